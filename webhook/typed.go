package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/webhook/internal/review"
)

// Defaulter sets defaults in objects that are created or updated.
//
// obj is the decoded object of the request. The defaulter owns it and changes it in place; the
// difference becomes a patch. It must be idempotent, since the API server may call it again on its
// own result. An error rejects the object, see [Denied] and [Failed].
//
// ctx carries the request, see [RequestFrom] and [Warn]. It ends when the time for an answer is
// over. A defaulter is called from many goroutines at once.
type Defaulter[T any] func(ctx context.Context, obj *T) error

// Validator decides whether an object may be created, updated or deleted. An error rejects it, see
// [Denied] and [Failed]. Warnings are shown to the user in both cases. The validator owns the
// objects, but changes to them have no effect. ctx is as for a [Defaulter]. The methods are called
// from many goroutines at once.
//
// Removing a finalizer from an object under deletion is an update, too. A validator that rejects it
// blocks the deletion.
type Validator[T any] interface {
	ValidateCreate(ctx context.Context, obj *T) (warnings []string, err error)
	ValidateUpdate(ctx context.Context, old, obj *T) (warnings []string, err error)
	// ValidateDelete gets the stored object.
	ValidateDelete(ctx context.Context, obj *T) (warnings []string, err error)
}

// ValidatorFuncs is a Validator made of functions. A nil function allows its operation without
// decoding the object.
type ValidatorFuncs[T any] struct {
	Create func(ctx context.Context, obj *T) (warnings []string, err error)
	Update func(ctx context.Context, old, obj *T) (warnings []string, err error)
	Delete func(ctx context.Context, obj *T) (warnings []string, err error)
}

// ValidateCreate calls Create.
func (v ValidatorFuncs[T]) ValidateCreate(ctx context.Context, obj *T) ([]string, error) {
	if v.Create == nil {
		return nil, nil
	}
	return v.Create(ctx, obj)
}

// ValidateUpdate calls Update.
func (v ValidatorFuncs[T]) ValidateUpdate(ctx context.Context, old, obj *T) ([]string, error) {
	if v.Update == nil {
		return nil, nil
	}
	return v.Update(ctx, old, obj)
}

// ValidateDelete calls Delete.
func (v ValidatorFuncs[T]) ValidateDelete(ctx context.Context, obj *T) ([]string, error) {
	if v.Delete == nil {
		return nil, nil
	}
	return v.Delete(ctx, obj)
}

func (v ValidatorFuncs[T]) skips(op admissionv1.Operation) bool {
	return op == admissionv1.Create && v.Create == nil || op == admissionv1.Update && v.Update == nil || op == admissionv1.Delete && v.Delete == nil
}

// skipper is a Validator that allows some operations without looking at the object.
type skipper interface {
	skips(op admissionv1.Operation) bool
}

// Default registers a defaulter with the manager, at [MutatePath] of its kind. At most one Options
// may be given.
func Default[T any, P object.Ptr[T]](mgr Manager, d Defaulter[T], opts ...Options) error {
	return register(mgr, opts, func(o Options) (*Endpoint, error) { return NewDefaulter[T, P](mgr.Scheme(), d, o) })
}

// Validate registers a validator with the manager, at [ValidatePath] of its kind. At most one
// Options may be given.
func Validate[T any, P object.Ptr[T]](mgr Manager, v Validator[T], opts ...Options) error {
	return register(mgr, opts, func(o Options) (*Endpoint, error) { return NewValidator[T, P](mgr.Scheme(), v, o) })
}

// NewDefaulter returns the http.Handler of a defaulter. The scheme maps T to its kind; it may be
// nil if Options.Kind is set. The error is an *object.UnknownKindError if neither names the kind.
func NewDefaulter[T any, P object.Ptr[T]](s *runtime.Scheme, d Defaulter[T], o Options) (*Endpoint, error) {
	if d == nil {
		return nil, &option.Error{Of: "webhook.NewDefaulter", Field: "defaulter", Err: fmt.Errorf("that of %T is nil", P(nil))}
	}
	k, err := newKind[T, P](s, &o)
	if err != nil {
		return nil, err
	}
	return NewMutating(func(ctx context.Context, req *Request) (Response, error) { return k.setDefaults(ctx, req, d) }, o)
}

// NewValidator returns the http.Handler of a validator. Scheme and error are as for [NewDefaulter].
func NewValidator[T any, P object.Ptr[T]](s *runtime.Scheme, v Validator[T], o Options) (*Endpoint, error) {
	if v == nil {
		return nil, &option.Error{Of: "webhook.NewValidator", Field: "validator", Err: fmt.Errorf("that of %T is nil", P(nil))}
	}
	k, err := newKind[T, P](s, &o)
	if err != nil {
		return nil, err
	}
	return NewValidating(func(ctx context.Context, req *Request) (Response, error) { return k.validate(ctx, req, v) }, o)
}

// typed decodes the objects of one kind.
type typed[T any, P object.Ptr[T]] struct {
	kind *wire.Kind
	subs []string
}

func newKind[T any, P object.Ptr[T]](s *runtime.Scheme, o *Options) (typed[T, P], error) {
	obj := P(new(T))
	if o.Kind.Empty() || !object.Untyped(obj) {
		kind, err := object.KindOf(s, obj)
		if err != nil {
			return typed[T, P]{}, fmt.Errorf("webhook: %w", err)
		}
		if o.Kind.Empty() {
			o.Kind = kind
		} else if t := s.AllKnownTypes()[o.Kind]; t != reflect.TypeFor[T]() {
			return typed[T, P]{}, &option.Error{Of: "webhook.Options", Field: "Kind", Err: fmt.Errorf("is %v, but %T is %v", o.Kind, obj, kind)}
		}
	}
	k := &wire.Kind{GVK: o.Kind, Scheme: s}
	if object.Untyped(obj) {
		k.Scheme = nil
	}
	_, k.MetadataOnly = any(obj).(*metav1.PartialObjectMetadata)
	return typed[T, P]{kind: k, subs: slices.Clone(o.SubResources)}, nil
}

// handles reports whether the typed handler decides on a request. The error is for a request of
// another kind, which only a wrong configuration sends.
func (t *typed[T, P]) handles(req *Request) (bool, error) {
	same := req.Kind == t.kind.GVK
	if req.SubResource != "" {
		return same && slices.Contains(t.subs, req.SubResource), nil
	}
	if !same {
		return false, review.Bad("", fmt.Sprintf("this webhook is for %s, the request is for %s: its configuration is wrong", name(t.kind.GVK), name(req.Kind)), nil)
	}
	return true, nil
}

func name(k schema.GroupVersionKind) string {
	v, kind := k.ToAPIVersionAndKind()
	return v + " " + kind
}

var errNoObject = errors.New("it is missing")

// decode reads an object of the request. The error is a verdict: the object does not fit into T.
func (t *typed[T, P]) decode(raw []byte, which string) (P, error) {
	obj := P(new(T))
	err := errNoObject
	if raw != nil {
		err = wire.Raw{Kind: t.kind, Encoding: wire.JSON, Bytes: raw}.Decode(obj)
	}
	if err != nil {
		return nil, &badObject{which: which, err: err}
	}
	return obj, nil
}

// badObject is the error for an object that its Go type cannot hold.
type badObject struct {
	which string
	err   error
}

func (e *badObject) Error() string { return e.which + " cannot be read: " + e.err.Error() }
func (e *badObject) Unwrap() error { return e.err }

// Status returns the status of the denial.
func (e *badObject) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: e.Error()}
}

// verdict turns the error of a typed handler into a response or a failure.
func verdict(ctx context.Context, req *Request, warnings []string, err error) (Response, error) {
	if err == nil {
		return Response{Allowed: true, Warnings: warnings}, nil
	}
	if ctx.Err() != nil || failed(err) {
		return Response{}, err // the time is over, or the handler failed
	}
	return Denied(req, err, warnings...), nil
}

func (t *typed[T, P]) validate(ctx context.Context, req *Request, v Validator[T]) (Response, error) {
	ok, err := t.handles(req)
	if err != nil || !ok || req.Operation == admissionv1.Connect {
		return Allowed(), err
	}
	if s, ok := v.(skipper); ok && s.skips(req.Operation) {
		return Allowed(), nil
	}
	var obj, old P
	if req.Operation != admissionv1.Delete {
		obj, err = t.decode(req.Object, "object")
	}
	if err == nil && req.Operation != admissionv1.Create {
		old, err = t.decode(req.OldObject, "oldObject")
	}
	if err != nil {
		return Denied(req, err), nil
	}
	var warnings []string
	switch req.Operation {
	case admissionv1.Create:
		warnings, err = v.ValidateCreate(ctx, obj)
	case admissionv1.Update:
		warnings, err = v.ValidateUpdate(ctx, old, obj)
	case admissionv1.Delete:
		warnings, err = v.ValidateDelete(ctx, old)
	}
	return verdict(ctx, req, warnings, err)
}

func encode(b *bytes.Buffer, obj any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return enc.Encode(obj)
}

func (t *typed[T, P]) setDefaults(ctx context.Context, req *Request, d Defaulter[T]) (Response, error) {
	ok, err := t.handles(req)
	if err != nil || !ok || req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return Allowed(), err
	}
	obj, err := t.decode(req.Object, "object")
	if err != nil {
		return Denied(req, err), nil
	}
	var before, after bytes.Buffer // its JSON
	if err := encode(&before, obj); err != nil {
		return Response{}, fmt.Errorf("encode the object: %w", err)
	}
	if resp, err := verdict(ctx, req, nil, d(ctx, obj)); err != nil || !resp.Allowed {
		return resp, err
	}
	if kind := obj.GetObjectKind().GroupVersionKind(); kind != t.kind.GVK {
		return Response{}, fmt.Errorf("the defaulter changed the kind of the object to %s", name(kind))
	}
	if err := encode(&after, obj); err != nil {
		return Response{}, fmt.Errorf("encode the object with its defaults: %w", err)
	}
	if bytes.Equal(before.Bytes(), after.Bytes()) {
		return Allowed(), nil
	}
	patch, err := diff(before.Bytes(), req.Object, after.Bytes())
	if err != nil {
		return Response{}, fmt.Errorf("patch of the object: %w", err)
	}
	return Response{Allowed: true, Patch: patch}, nil
}
