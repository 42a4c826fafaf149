package child

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Change is what Ensure did.
type Change string

const (
	// Unchanged says that the child was as desired, or that the apply changed nothing.
	Unchanged Change = "unchanged"
	// Created says that Ensure created the child.
	Created Change = "created"
	// Updated says that Ensure changed the child.
	Updated Change = "updated"
)

// Option changes what Ensure does.
type Option func(*options)

type options struct {
	fieldOwner string
	force      bool
	adopt      bool

	whileDeleted bool
	recreate     bool
	once         bool
	dryRun       bool

	takeOver []string
	onKept   func(Kept)
}

// Force takes over fields that others own with other values. Without it Ensure returns a
// *client.ConflictError that names them.
func Force() Option { return func(o *options) { o.force = true } }

// Adopt takes over an object without a controller. Without it Ensure returns a *TakenError.
func Adopt() Option { return func(o *options) { o.adopt = true } }

// WhileDeleted lets Ensure create and change the child of an owner that is being deleted, such as the Job of a last
// backup. Without it Ensure returns [ErrOwnerDeleted]. The owner needs a finalizer until the child has done its work:
// the garbage collector deletes the child after the owner.
func WhileDeleted() Option { return func(o *options) { o.whileDeleted = true } }

// Recreate lets Ensure delete a child that the server does not let it change. It asks the server first, by a dry run,
// whether it would create the child as desired. So it is for immutable fields, such as the template of a Job. Ensure then
// returns [ErrDeleted]. The deletion of the child causes another reconcile, which creates the new one. What the child
// has is lost, such as the data of a volume claim. The children of the child are deleted in the background.
func Recreate() Option { return func(o *options) { o.recreate = true } }

// FieldOwner sets the field manager of the applies, which has at most 128 bytes. The default is the kind and group of
// the owner, as in "guestbook.webapp.example.com"; if that is too long, its end is a hash. Two controllers that set
// different fields of one child need
// different names. After a change of the name, the old name keeps the fields that it has applied.
func FieldOwner(name string) Option { return func(o *options) { o.fieldOwner = name } }

// Ensure makes the child exist with all fields that desired sets and with owner as its controller. It
// returns the child in its new state. It sends nothing if nothing differs (see the package comment), else
// one server-side apply. The client's view may be stale; the worst consequence is an apply that changes
// nothing.
//
// A cache may lack a child that exists: it may be behind, or hold only objects with certain labels. If
// the client finds no child, Ensure asks the server, and then sends an apply that creates the child or
// fails. If somebody creates an object of the name at the same time, Ensure reads it and compares again.
// A program without permission to get the kind receives the *client.AlreadyExistsError instead. A child
// that the cache never holds costs one get at each call.
//
// desired sets the wanted fields and nothing else, so it must not be an object that was read. Ensure does
// not change it. If it has no namespace and its kind is namespaced, the child gets that of the owner. The
// stringData of a Secret is sent as data.
//
// Errors name the child. Before anything is sent they are an *option.Error, *TakenError,
// ErrOwnerDeleted or ErrDeleted. Later they are ErrReplaced, a *client.ConflictError whose
// Fields are those that others own with other values, or another error of the client.
func Ensure[T any, P object.Ptr[T]](ctx context.Context, c client.Client, owner object.Object, desired P, opts ...Option) (P, Change, error) {
	e, err := newEnsure(c, owner, desired == nil, desired, opts)
	if err != nil {
		return nil, Unchanged, err
	}
	return runTyped[T, P](ctx, e)
}

// runTyped runs e for a child of the type P.
func runTyped[T any, P object.Ptr[T]](ctx context.Context, e *ensure) (P, Change, error) {
	live, change, err := e.run(ctx, P(new(T)))
	if err != nil {
		return nil, Unchanged, fmt.Errorf("child %s of %s: %w", e.name, describe(e.c.Scheme(), e.owner), err)
	}
	p, ok := live.(P)
	if !ok {
		return nil, Unchanged, fmt.Errorf("child %s: the client answered with a %T", e.name, live)
	}
	return p, change, nil
}

// ensure is one call of Ensure, without its type parameters.
type ensure struct {
	c        client.Client
	o        options
	owner    object.Object
	parent   schema.GroupVersionKind    // the kind of owner
	gvk      schema.GroupVersionKind    // the kind of the child
	into     object.Object              // of the type of the result
	want     *unstructured.Unstructured // the object to apply: a Go value would have more fields than were set
	asGiven  bool                       // it was not a Go value
	sets     map[string]any             // the fields that want sets, without the hash
	hash     string                     // of sets
	name     string
	generate func() error // builds what [Once] applies, if there is no child. Until then, want has the key alone
}

func newEnsure(c client.Client, owner object.Object, isNil bool, desired object.Object, opts []Option) (*ensure, error) {
	if err := checkOwner(owner); err != nil {
		return nil, err
	}
	if isNil {
		return nil, invalid("desired", "is nil")
	}
	e := &ensure{c: c, owner: owner, name: describe(c.Scheme(), desired)}
	for _, opt := range opts {
		opt(&e.o)
	}
	var err error
	if e.parent, err = object.KindOf(c.Scheme(), owner); err != nil {
		return nil, fmt.Errorf("owner: %w", err)
	}
	if e.gvk, err = object.KindOf(c.Scheme(), desired); err != nil {
		return nil, fmt.Errorf("desired: %w", err)
	}
	e.o.fieldOwner = cmp.Or(e.o.fieldOwner, fieldOwner(e.parent))
	if bad := validation.ValidateFieldManager(e.o.fieldOwner, nil); len(bad) > 0 {
		return nil, invalid("FieldOwner", "cannot be used: "+bad[0].ErrorBody())
	}
	if owner.GetDeletionTimestamp() != nil && !e.o.whileDeleted {
		return nil, fmt.Errorf("child %s of %s: %w", e.name, describe(c.Scheme(), owner), ErrOwnerDeleted)
	}
	return e, e.build(desired, desired.GetName())
}

// build sets e.want to what is applied: desired with a name and the owner.
func (e *ensure) build(desired object.Object, name string) error {
	switch {
	case name == "":
		return invalid("desired.metadata.name", "is empty: a child is found by its name")
	case desired.GetUID() != "" || desired.GetResourceVersion() != "":
		return invalid("desired", e.name+" was read from a server: make a new one that sets what is wanted and nothing else")
	case hasStatus(desired):
		return invalid("desired.status", "of "+e.name+" is set: it is for those who run the child")
	}
	mapping, err := e.c.Mapper().RESTMapping(e.gvk.GroupKind(), e.gvk.Version)
	if err != nil {
		return fmt.Errorf("child %s: %w", e.name, err)
	}
	fields, err := setFields(desired)
	if err != nil {
		return fmt.Errorf("child %s: %w", e.name, err)
	}
	_, e.asGiven = desired.(*unstructured.Unstructured)
	e.want = &unstructured.Unstructured{Object: fields}
	e.want.SetGroupVersionKind(e.gvk)
	e.want.SetName(name)
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	switch {
	case !namespaced:
		e.want.SetNamespace("")
	case desired.GetNamespace() == "":
		e.want.SetNamespace(e.owner.GetNamespace())
	}
	if namespaced && e.want.GetNamespace() == "" {
		return invalid("desired.metadata.namespace", "is empty, and the owner has none")
	}
	e.name = describe(e.c.Scheme(), e.want)
	if e.gvk == corev1.SchemeGroupVersion.WithKind("Secret") {
		if err := foldStringData(e.want.Object); err != nil {
			return err
		}
	}
	if err := own(e.owner, e.parent, e.want, e.name); err != nil {
		return err
	}
	if err = e.stamp(); err != nil {
		err = fmt.Errorf("child %s: %w", e.name, err)
	}
	return err
}

// fieldOwner returns the default field manager for children of a kind: its name and group. A name that is too long
// ends with a hash of the whole.
func fieldOwner(parent schema.GroupVersionKind) string {
	name := strings.TrimSuffix(strings.ToLower(parent.Kind)+"."+parent.Group, ".")
	if len(name) <= validation.FieldManagerMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := "-" + hex.EncodeToString(sum[:8])
	return name[:validation.FieldManagerMaxLength-len(end)] + end
}

// apply sends e.want. With ifAbsent it creates the child or changes nothing.
func (e *ensure) apply(ctx context.Context, ifAbsent bool) (object.Object, error) {
	got, err := e.c.Write(ctx, client.Op{Verb: "apply", Object: e.want, Owner: e.o.fieldOwner, Force: e.o.force, IfAbsent: ifAbsent, DryRun: e.o.dryRun})
	if conflict, ok := errors.AsType[*client.ConflictError](err); ok && len(conflict.Fields) > 0 {
		return nil, fmt.Errorf("others own fields that it sets otherwise, and would have to be forced: %w", err)
	}
	if err != nil {
		return nil, e.replaced(err)
	}
	out := fresh(e.into)
	data, err := json.Marshal(got)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer of the server: %w", err)
	}
	return out, nil
}

// replaced wraps err in ErrReplaced if the server refused the uid, which an apply to a known child has.
func (e *ensure) replaced(err error) error {
	invalid, ok := errors.AsType[*client.InvalidError](err)
	other := ok && slices.ContainsFunc(invalid.Fields, func(f metav1.StatusCause) bool { return f.Field == "metadata.uid" })
	if _, absent := errors.AsType[*client.ConflictError](err); e.want.GetUID() != "" && (other || absent) {
		return fmt.Errorf("%w: %w", ErrReplaced, err)
	}
	return err
}
