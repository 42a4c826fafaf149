package cache

import (
	"context"
	"errors"
	"iter"
	"reflect"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Get implements client.Reader. The answer is the state that the cache holds now.
//
// Errors: *UndeclaredError, *informer.NamespaceError, *UnsupportedError for a subresource, a live
// read or a resourceVersion other than "0", *informer.NotSyncedError, *informer.UnavailableError,
// *informer.TypeMismatchError, *client.NotFoundError, *client.ArgumentError, *store.RejectedError.
func (c *Cache) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	in, h, err := c.holder(ctx, key, into, o)
	if err != nil {
		return err
	}
	err = in.Look(key, func(e *store.Entry) error { return in.Decode(e, into) }, readOptions(o.EvenUnavailable)...)
	return h.explainMissing(key, err)
}

// readOptions returns the read options of an informer.
func readOptions(evenUnavailable bool) []informer.ReadOption {
	if evenUnavailable {
		return []informer.ReadOption{informer.EvenUnavailable}
	}
	return nil
}

// holder returns the informer and the open kind that answer a Get.
func (c *Cache) holder(ctx context.Context, key object.Key, proto object.Object, o client.GetOptions) (*informer.Informer, *openKind, error) {
	h, err := c.resolve(ctx, proto, o.Kind)
	if err != nil {
		return nil, nil, err
	}
	if o.Live {
		return nil, nil, &UnsupportedError{Kind: h.kind.GVK, Option: "live", Reason: client.ErrNotLive.Error(), cause: client.ErrNotLive}
	}
	if o.Subresource != "" || !o.Parent.Empty() {
		return nil, nil, &UnsupportedError{Kind: h.kind.GVK, Option: "subresource " + o.Subresource, Reason: "only the server has it"}
	}
	if err := h.atVersion(o.ResourceVersion); err != nil {
		return nil, nil, err
	}
	shares, err := h.in(key.Namespace)
	if err != nil {
		return nil, nil, err
	}
	in := shares[0].informer()
	return in, h, in.Fits(proto)
}

// explainMissing replaces a NotFoundError by an ArgumentError if no object can have that key.
func (h *openKind) explainMissing(key object.Key, err error) error {
	if _, absent := errors.AsType[*client.NotFoundError](err); absent {
		if problem := h.problem(key); problem != "" {
			return &client.ArgumentError{Call: client.Call{Verb: "get", Kind: h.kind.GVK.Kind, Key: key}, Argument: "key", Problem: problem}
		}
	}
	return err
}

// problem says why no object can have a key, or "".
func (h *openKind) problem(key object.Key) string {
	switch {
	case key.Name == "":
		return "name is empty"
	case key.Namespace == "" && !h.clusterScoped():
		return "namespace is empty, the kind is namespaced"
	}
	return ""
}

// clusterScoped reports whether the kind has no namespaces now. Its definition may have been made anew.
func (h *openKind) clusterScoped() bool { return h.shares[0].informer().Kind().ClusterScoped }

// List implements client.Reader. It reads each namespace from one snapshot, and matches labels
// without decoding. A field matches by the index of its name; metadata.name and metadata.namespace
// need no index. Field requirements must have the form a=b, and an object must meet all of them.
//
// Limit does not bound the list. Continue starts it behind the page with that token.
//
// Errors end the sequence, except *store.RejectedError: those of Get, *store.UnknownIndexError,
// *store.IndexPendingError, and *UnsupportedError for a field selector that is not exact.
func (c *Cache) List(ctx context.Context, proto object.Object, o client.ListOptions) iter.Seq2[object.Object, error] {
	return func(yield func(object.Object, error) bool) {
		_, all, err := c.find(ctx, proto, o)
		if err != nil {
			yield(nil, err)
			return
		}
		decoded(proto, all)(yield)
	}
}

// Page implements client.PartialReader. The token of a page names its last key. The next page is read from
// the state at that time: tokens never expire, and a page may show changes since the one before. A
// Limit of zero or less puts everything into one page. Objects that cannot be decoded count as
// well: a page may have fewer items than its Limit.
func (c *Cache) Page(ctx context.Context, proto object.Object, o client.ListOptions) (client.Page[object.Object], error) {
	page := client.Page[object.Object]{}
	_, all, err := c.find(ctx, proto, o)
	if err != nil {
		return page, err
	}
	bounded := func(yield func(informer.Found) bool) {
		n := int64(0)
		var last object.Key
		for f := range all {
			if o.Limit > 0 && n == o.Limit {
				page.Continue = token(last)
				page.Remaining = -1
				return
			}
			n, last = n+1, f.Entry.Key()
			if !yield(f) {
				return
			}
		}
	}
	var bad []error
	for obj, err := range decoded(proto, bounded) {
		if err != nil {
			bad = append(bad, err)
			continue
		}
		page.Items = append(page.Items, obj)
	}
	return page, errors.Join(bad...)
}

// decoded yields the decoded entries, with the type of proto.
func decoded(proto object.Object, all iter.Seq[informer.Found]) iter.Seq2[object.Object, error] {
	return func(yield func(object.Object, error) bool) {
		for f := range all {
			obj := reflect.New(reflect.TypeOf(proto).Elem()).Interface().(object.Object)
			err := f.Informer.Decode(f.Entry, obj)
			if err != nil {
				obj = nil
			}
			if !yield(obj, err) {
				return
			}
		}
	}
}
