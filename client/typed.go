package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Get returns the object of the key: Get[corev1.Pod](ctx, c, key). The object is nil whenever the error
// is not, so also if there is no such object: that is a [NotFoundError], see [IgnoreNotFound].
//
// The namespace of the key is ignored for a cluster-scoped kind. For a namespaced kind an empty one is
// an [ArgumentError].
func Get[T any, P object.Ptr[T]](ctx context.Context, r Reader, key object.Key, opts ...GetOption) (P, error) {
	var o GetOptions
	o.Apply(opts...)
	p := P(new(T))
	setKind(p, o.Kind)
	if err := r.Get(ctx, key, p, o); err != nil {
		return nil, err
	}
	return p, nil
}

// List yields each matching object: for pod, err := range List[corev1.Pod](ctx, c, opts…). It reads
// page by page as the loop proceeds, and a loop that stops early reads no further page. Every object is
// a new value that the caller owns.
//
// An object that cannot be decoded is yielded as nil with a [*wire.DecodeError], and the sequence
// continues. Any other error is yielded with nil and ends the sequence. If the server's snapshot
// expires between two pages, that error is a [GoneError]: list again, or set Inconsistent in [ListOptions].
func List[T any, P object.Ptr[T]](ctx context.Context, r Reader, opts ...ListOption) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		var o ListOptions
		if err := o.Apply(opts...); err != nil {
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
	// Continue is the token of the next page; empty on the last page. Tokens of the server expire.
	Continue string
	// ResourceVersion is the state of the server that the list shows. A watch may start there. It
	// is empty if the reader does not know it.
	ResourceVersion string
	// Remaining is an estimate of how many objects follow on later pages; -1 if unknown.
	Remaining int64
}

// ListPage reads one page of a list: ListPage[corev1.Pod](ctx, c, ListOptions{Limit: 100}). A reader that
// is no [PartialReader] answers with the whole list. The page lacks objects that cannot be decoded; err
// then joins a [*wire.DecodeError] for each of them.
func ListPage[T any, P object.Ptr[T]](ctx context.Context, r Reader, opts ...ListOption) (Page[P], error) {
	var o ListOptions
	err := o.Apply(opts...)
	if err != nil {
		return Page[P]{}, err
	}
	proto := P(new(T))
	setKind(proto, o.Kind)
	var raw Page[object.Object]
	if pager, ok := r.(PartialReader); ok {
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

// Create creates the object and returns it as the server has it. With an empty name and a generateName
// the server chooses the name. Reviews (of tokens, of access) have no name: the object that is returned
// has the answer in its status.
func Create[O object.Object](ctx context.Context, w Writer, obj O, opts ...WriteOption) (O, error) {
	return write(ctx, w, obj, Op{Verb: verbCreate, Object: obj}, opts)
}

// Update replaces the object. If obj has a resourceVersion and the server has another one, the error is
// a [ConflictError]. Without a resourceVersion Update overwrites the object.
//
// # Unknown fields
//
// A typed object keeps the fields that its Go type does not have: those of a newer server, or of a newer
// resource definition. Update takes them from the version that was read, which obj names by its uid and
// resourceVersion, and puts them back in their places. RestoreJSON in package decode says what becomes
// of them where obj has changed.
//
// The client has that version in memory for a short while after a Get or a write. Else it looks in the
// cache of the manager ([Live.HeldBy]), and then reads the object once more. It does so only if some
// object of the type had unknown fields before, in this process. Otherwise an Update costs nothing more.
//
// If the place of a field is ambiguous, or the fields cannot be read, the error is an
// [UnknownFieldsError] and nothing is sent. [DropUnknown] sends obj as it is. An object without a uid or
// a resourceVersion is sent as it is, and so is one that other code than this module has decoded. The
// same holds for the subresources: [UpdateStatus], [UpdateSub].
func Update[O object.Object](ctx context.Context, w Writer, obj O, opts ...WriteOption) (O, error) {
	return write(ctx, w, obj, Op{Verb: verbUpdate, Object: obj}, opts)
}

// Patch changes part of the object. It reads the kind, the namespace and the name of obj and nothing
// else. A patch that changes nothing is sent, too; ask [PatchData.Empty] before.
func Patch[O object.Object](ctx context.Context, w Writer, obj O, patch PatchData, opts ...WriteOption) (O, error) {
	return write(ctx, w, obj, Op{Verb: verbPatch, Object: obj, Patch: patch}, opts)
}

// Apply is a server-side apply. Afterwards owner owns exactly the fields that obj sets. A field that
// owner owned before and that obj does not set is removed. If others own a field with another value,
// the error is a [ConflictError] that names it, unless [Force] is given. Unknown fields are refused; see
// [FieldValidation]. For the status of obj give [Sub]("status").
//
// A resourceVersion in obj must be the current one; another one is a [ConflictError]. Leave it empty to
// apply to any version.
//
// A typed obj also sets the fields that its Go type writes when they are zero, except a zero status and
// a zero creationTimestamp. Use an unstructured object if another such field must not be owned. If a
// conversion of the kind drops zero values, each apply of them is a change.
func Apply[O object.Object](ctx context.Context, w Writer, obj O, owner string, opts ...WriteOption) (O, error) {
	return write(ctx, w, obj, Op{Verb: verbApply, Object: obj, Owner: owner}, opts)
}

// Delete deletes the object. It reads the kind, the namespace and the name of obj and nothing else;
// [IfUID] and [IfVersion] are preconditions. If there is no such object, the error is a [NotFoundError].
func Delete(ctx context.Context, w Writer, obj object.Object, opts ...WriteOption) error {
	_, err := write(ctx, w, obj, Op{Verb: verbDelete, Object: obj}, opts)
	return err
}

// DeleteAll deletes every object of the type that matches:
// DeleteAll[corev1.Pod](ctx, c, InNamespace("web"), MatchingLabels{…}). Without a namespace it deletes
// in all namespaces, if the server allows that for the kind.
func DeleteAll[T any, P object.Ptr[T]](ctx context.Context, w Writer, opts ...WriteOption) error {
	op := Op{Verb: verbDeleteAll}
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
		opt.ApplyToWrite(op)
	}
	return op.Select.err
}

// write sends the op and returns the answer in the type of obj. The answer is nil if a subresource of
// another kind answers with a Status, and after a delete that removed the object at once.
func write[O object.Object](ctx context.Context, w Writer, obj O, op Op, opts []WriteOption) (O, error) {
	var none O
	if err := op.apply(opts); err != nil {
		return none, err
	}
	got, err := w.Write(ctx, op)
	if err != nil {
		return none, err
	}
	if got == nil && (op.Body != nil || op.Verb == verbDelete) {
		return none, nil
	}
	out, ok := got.(O)
	if !ok {
		return none, fmt.Errorf("%s of %T: the writer answered with a %T", op.Verb, obj, got)
	}
	return out, nil
}

// setKind sets the kind of the options, if they have one.
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
		case !wire.IsObjectError(err):
			return Page[object.Object]{}, err
		default:
			bad = append(bad, err)
		}
	}
	return page, errors.Join(bad...)
}
