// Package webhooktest tests webhooks without a server. [Create], [Update] and [Delete] call an
// admission handler as the API server would, and return its verdict and the patched object.
// [RoundTrip] checks that a conversion loses nothing.
//
//	res, err := webhooktest.Create(ctx, handler, order)    res.Allowed, res.Object with its defaults
//	func FuzzOrder(f *testing.F) { webhooktest.RoundTrip(f, convert.Spoke[v2.Order, v1.Order](to, from)) }
//
//	object ──► AdmissionReview ──► handler ──► answer ──► Result
//	                                             └─ patch, applied to the object
package webhooktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// Result is the verdict of a webhook.
type Result[O object.Object] struct {
	Allowed bool
	// Status is the reason of a denial. It is nil if Allowed.
	Status   *metav1.Status
	Warnings []string
	// Patch is the JSON patch, empty if the webhook changed nothing.
	Patch []byte
	// Object is a new object with the patch applied; the given object stays unchanged. For a
	// deletion it is the given object.
	Object O
}

// Fields returns the field paths that a denial names.
func (r Result[O]) Fields() []string {
	var out []string
	if r.Status != nil && r.Status.Details != nil {
		for _, c := range r.Status.Details.Causes {
			out = append(out, c.Field)
		}
	}
	return out
}

// Create asks the webhook whether obj may be created. The error is a *[NoVerdictError] if the webhook failed.
//
// The functions change the request before it is sent: they set its user, DryRun, the subresource, or the kind if neither
// the object nor the handler names one. The default user is "webhooktest".
func Create[O object.Object](ctx context.Context, h http.Handler, obj O, change ...func(*admissionv1.AdmissionRequest)) (Result[O], error) {
	var none O
	return ask(ctx, h, admissionv1.Create, none, obj, change)
}

// Update asks the webhook whether old may become obj. The error is as for [Create].
func Update[O object.Object](ctx context.Context, h http.Handler, old, obj O, change ...func(*admissionv1.AdmissionRequest)) (Result[O], error) {
	return ask(ctx, h, admissionv1.Update, old, obj, change)
}

// Delete asks the webhook whether obj may be deleted. The error is as for [Create].
func Delete[O object.Object](ctx context.Context, h http.Handler, obj O, change ...func(*admissionv1.AdmissionRequest)) (Result[O], error) {
	var none O
	return ask(ctx, h, admissionv1.Delete, obj, none, change)
}

// NoVerdictError is the error for an answer that is not a verdict. The API server would apply the
// failurePolicy.
type NoVerdictError struct {
	// Code is the HTTP status code.
	Code int
	// Body is the body of the answer.
	Body string
}

func (e *NoVerdictError) Error() string { return fmt.Sprintf("no verdict: %d: %s", e.Code, e.Body) }

var errNoKind = errors.New("webhooktest: neither the object nor the handler has a kind: set that of the request")

func ask[O object.Object](ctx context.Context, h http.Handler, op admissionv1.Operation, old, obj O, change []func(*admissionv1.AdmissionRequest)) (res Result[O], err error) {
	subject := obj
	if op == admissionv1.Delete {
		subject = old
	}
	req := &admissionv1.AdmissionRequest{
		UID: types.UID("webhooktest"), Operation: op, Name: subject.GetName(), Namespace: subject.GetNamespace(),
		UserInfo: authenticationv1.UserInfo{Username: "webhooktest", Groups: []string{"system:authenticated"}},
		Kind:     metav1.GroupVersionKind(kindOf(h, subject)),
	}
	for _, f := range change {
		f(req)
	}
	if req.Kind.Kind == "" {
		return res, errNoKind
	}
	// The resource is a guess, for handlers that read it.
	req.Resource = metav1.GroupVersionResource{Group: req.Kind.Group, Version: req.Kind.Version, Resource: strings.ToLower(req.Kind.Kind) + "s"}
	req.RequestKind, req.RequestResource, req.RequestSubResource = &req.Kind, &req.Resource, req.SubResource
	if op != admissionv1.Delete {
		if req.Object.Raw, err = encode(obj, schema.GroupVersionKind(req.Kind)); err != nil {
			return res, err
		}
	}
	if op != admissionv1.Create {
		if req.OldObject.Raw, err = encode(old, schema.GroupVersionKind(req.Kind)); err != nil {
			return res, err
		}
	}
	answer, err := call(ctx, h, req)
	if err != nil {
		return res, err
	}
	res = Result[O]{Allowed: answer.Allowed, Status: answer.Result, Warnings: answer.Warnings, Patch: answer.Patch, Object: subject}
	if len(answer.Patch) > 0 {
		res.Object, err = apply(answer.Patch, req.Object.Raw, subject)
	} else if op != admissionv1.Delete {
		res.Object = subject.DeepCopyObject().(O)
	}
	return res, err
}

// kindOf returns the kind that the object or the handler names.
func kindOf(h http.Handler, obj object.Object) schema.GroupVersionKind {
	if k := obj.GetObjectKind().GroupVersionKind(); !k.Empty() {
		return k
	}
	if h, ok := h.(interface {
		Kind() schema.GroupVersionKind
	}); ok {
		return h.Kind()
	}
	return schema.GroupVersionKind{}
}

func encode(obj object.Object, kind schema.GroupVersionKind) ([]byte, error) {
	obj = obj.DeepCopyObject().(object.Object)
	if obj.GetObjectKind().GroupVersionKind().Empty() {
		obj.GetObjectKind().SetGroupVersionKind(kind)
	}
	b, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("webhooktest: encode %T: %w", obj, err)
	}
	return b, nil
}

func call(ctx context.Context, h http.Handler, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}, Request: req,
	})
	if err != nil {
		return nil, fmt.Errorf("webhooktest: encode the review: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", runtime.ContentTypeJSON)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var got admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || got.Response == nil || got.Response.UID != req.UID {
		return nil, &NoVerdictError{Code: w.Code, Body: w.Body.String()}
	}
	return got.Response, nil
}

// apply returns a new object made of raw and the patch. It uses the same library as the API server.
func apply[O object.Object](patch, raw []byte, like O) (out O, err error) {
	p, err := jsonpatch.DecodePatch(patch)
	if err == nil {
		raw, err = p.Apply(raw)
	}
	if err == nil {
		out = reflect.New(reflect.TypeOf(like).Elem()).Interface().(O)
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		return out, fmt.Errorf("webhooktest: apply the patch %s: %w", patch, err)
	}
	return out, nil
}
