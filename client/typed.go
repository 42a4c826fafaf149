package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// Get returns the object of the key: Get[corev1.Pod](ctx, c, key). The namespace of the key is
// ignored for a cluster-scoped kind; an empty one is an [InvalidKeyError] for a namespaced kind.
func Get[T any, P object.Ptr[T]](ctx context.Context, r Reader, key object.Key, opts ...GetOption) (P, error) {
	o, err := NewGetOptions(opts...)
	if err != nil {
		return nil, err
	}
	p := P(new(T))
	setKind(p, o.Kind)
	if err := r.Get(ctx, key, p, o); err != nil {
		return nil, err
	}
	return p, nil
}

// List yields each matching object: for pod, err := range List[corev1.Pod](ctx, c, opts…). It
// reads page by page as the loop goes on, so a loop that stops early reads no more. Every object
// is a new value of the caller's.
//
// An object that cannot be decoded is yielded as nil with a [*wire.DecodeError] and the sequence goes
// on. Any other error is yielded with nil and is the last. When the snapshot expires between two
// pages that error is a [GoneError], for what was yielded cannot be taken back: start over, or give
// [AllowInconsistent].
func List[T any, P object.Ptr[T]](ctx context.Context, r Reader, opts ...ListOption) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		o, err := NewListOptions(opts...)
		if err != nil {
			yield(nil, err)
			return
		}
		proto := P(new(T))
		setKind(proto, o.Kind)
		for obj, err := range r.List(ctx, proto, o) {
			p, _ := obj.(P)
			if err == nil && p == nil {
				err = fmt.Errorf("list of %T: the reader answered with a %T", proto, obj)
			}
			if err != nil {
				p = nil
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// Page is one page of a list.
type Page[P object.Object] struct {
	Items []P
	// Continue is the token for the next page; empty: this is the last. It expires.
	Continue string
	// ResourceVersion is the state of the server that the list shows; a watch may start there.
	// Empty when the reader does not know it.
	ResourceVersion string
	// Remaining is about how many objects follow on later pages; -1: not known.
	Remaining int64
}

// Pager is a [Reader] that can answer page by page.
type Pager interface {
	// Page reads one page of at most o.Limit objects of proto's type.
	Page(ctx context.Context, proto object.Object, o ListOptions) (Page[object.Object], error)
}

// ListPage reads one page of a list: ListPage[corev1.Pod](ctx, c, Limit(100)). A reader that
// knows no pages answers with all there is. Objects that cannot be decoded are left out, and
// err then holds a [*wire.DecodeError] for each of them beside the page of the others.
func ListPage[T any, P object.Ptr[T]](ctx context.Context, r Reader, opts ...ListOption) (Page[P], error) {
	o, err := NewListOptions(opts...)
	if err != nil {
		return Page[P]{}, err
	}
	proto := P(new(T))
	setKind(proto, o.Kind)
	var raw Page[object.Object]
	if pager, ok := r.(Pager); ok {
		raw, err = pager.Page(ctx, proto, o)
	} else {
		raw, err = collect(r.List(ctx, proto, o))
	}
	page := Page[P]{Continue: raw.Continue, ResourceVersion: raw.ResourceVersion, Remaining: raw.Remaining}
	if len(raw.Items) > 0 {
		page.Items = make([]P, 0, len(raw.Items))
	}
	for _, obj := range raw.Items {
		p, ok := obj.(P)
		if !ok {
			return Page[P]{}, fmt.Errorf("list of %T: the reader answered with a %T", proto, obj)
		}
		page.Items = append(page.Items, p)
	}
	return page, err
}

// Create makes the object and returns it as the server has it. Its own obj stays as it is. An
// empty name with a generateName lets the server choose. Reviews have no name: what is returned has
// the answer in its status.
func Create[O object.Object](ctx context.Context, w Writer, obj O, opts ...WriteOption) (O, error) {
	return write(ctx, w, obj, Op{Verb: VerbCreate, Object: obj}, opts)
}

// Update replaces the object. With a resourceVersion it fails with a [ConflictError] when the server
// has a newer one; without, it overwrites what there is.
//
// A typed object that was read, changed and is written as a whole keeps the fields that its Go type
// does not have: those of a newer server, or of a newer resource definition. They are taken from the
// version that was read, which obj names by its uid and resourceVersion, and put where they were; see
// RestoreJSON in package decode for what becomes of them where obj has changed. That version is at
// hand if obj was got, or is the answer to a write, a short while ago, or if it is in the cache of the
// manager ([Live.HeldBy]); else the object is read once more. It is looked for only if an object of
// the type had such fields before, anywhere in this process: otherwise an Update costs nothing more.
//
// Where it cannot be told where the fields belong, or they cannot be read, the error is an
// [UnknownFieldsError] and nothing is sent; [DropUnknown] sends obj as it is. An object without a uid or a
// resourceVersion, or that other code than this module's has decoded, is sent as it is. All of that is
// so for the subresources too: [UpdateStatus], [UpdateSub].
func Update[O object.Object](ctx context.Context, w Writer, obj O, opts ...WriteOption) (O, error) {
	return write(ctx, w, obj, Op{Verb: VerbUpdate, Object: obj}, opts)
}

// Patch changes part of the object. Of obj only the kind, the namespace and the name count. A
// patch that changes nothing is sent all the same; ask [PatchData.Empty] before.
func Patch[O object.Object](ctx context.Context, w Writer, obj O, patch PatchData, opts ...WriteOption) (O, error) {
	return write(ctx, w, obj, Op{Verb: VerbPatch, Object: obj, Patch: patch}, opts)
}

// Apply is a server-side apply: owner then owns exactly the fields that obj sets, and what it
// owned before but does not set any more goes. Fields that others own with other values make a
// [ConflictError] that names them, unless [Force] is given. Unknown fields are refused ([Strict]).
//
// A resourceVersion in obj must be the current one, or the apply is a [ConflictError]; leave it empty
// to apply to whatever is there.
//
// A typed obj always sets the fields that its Go type writes even if they are zero. The status
// and the creationTimestamp, where zero, are left out; use unstructured objects where another
// field of that sort must not be owned. Zero values that a conversion of the kind's own drops come back
// as changes on each apply.
func Apply[O object.Object](ctx context.Context, w Writer, obj O, owner string, opts ...WriteOption) (O, error) {
	return write(ctx, w, obj, Op{Verb: VerbApply, Object: obj, Owner: owner}, opts)
}

// Delete deletes the object. Of obj only the kind, the namespace and the name count; give [IfUID]
// or [IfVersion] to be sure of which. It is a [NotFoundError] where there is none.
func Delete(ctx context.Context, w Writer, obj object.Object, opts ...WriteOption) error {
	op := Op{Verb: VerbDelete, Object: obj}
	if err := op.apply(opts); err != nil {
		return err
	}
	_, err := w.Write(ctx, op)
	return err
}

// DeleteAll deletes every object of the type that matches:
// DeleteAll[corev1.Pod](ctx, c, InNamespace("web"), MatchingLabels{…}). Without a namespace it
// deletes in all of them, if the server allows that for the kind.
func DeleteAll[T any, P object.Ptr[T]](ctx context.Context, w Writer, opts ...WriteOption) error {
	op := Op{Verb: VerbDeleteAll}
	if err := op.apply(opts); err != nil {
		return err
	}
	proto := P(new(T))
	setKind(proto, op.Select.Kind)
	op.Object = proto
	_, err := w.Write(ctx, op)
	return err
}

// apply applies the options in order.
func (op *Op) apply(opts []WriteOption) error {
	for _, opt := range opts {
		if err := opt.ApplyToWrite(op); err != nil {
			return err
		}
	}
	return nil
}

// write sends the op and returns the answer as the type that went in; nil where a subresource of a
// kind of its own answers with a Status.
func write[O object.Object](ctx context.Context, w Writer, obj O, op Op, opts []WriteOption) (O, error) {
	var none O
	if err := op.apply(opts); err != nil {
		return none, err
	}
	got, err := w.Write(ctx, op)
	if err != nil {
		return none, err
	}
	if got == nil && op.Body != nil {
		return none, nil
	}
	out, ok := got.(O)
	if !ok {
		return none, fmt.Errorf("%s of %T: the writer answered with a %T", op.Verb, obj, got)
	}
	return out, nil
}

// setKind gives an object that does not know its kind the one of the options.
func setKind(o object.Object, gvk schema.GroupVersionKind) {
	if !gvk.Empty() {
		o.GetObjectKind().SetGroupVersionKind(gvk)
	}
}

// collect reads a whole list into one page.
func collect(objects iter.Seq2[object.Object, error]) (Page[object.Object], error) {
	var page Page[object.Object]
	var bad []error
	for obj, err := range objects {
		switch {
		case err == nil:
			page.Items = append(page.Items, obj)
		case !isDecodeError(err):
			return Page[object.Object]{}, err
		default:
			bad = append(bad, err)
		}
	}
	return page, errors.Join(bad...)
}

func isDecodeError(err error) bool {
	_, ok := errors.AsType[*wire.DecodeError](err)
	return ok
}
