package cache

import (
	"context"
	"errors"
	"iter"
	"reflect"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Get implements client.Reader. The answer is what the cache holds now.
//
// Errors: *UndeclaredError, *informer.NamespaceError, *UnsupportedError for a subresource, a live read
// or a resourceVersion other than "0", *informer.NotSyncedError, *informer.UnavailableError, *informer.TypeMismatchError,
// *client.NotFoundError, *client.InvalidKeyError, *store.SetAsideError.
func (c *Cache) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	in, h, err := c.holder(ctx, key, into, o)
	if err != nil {
		return err
	}
	e, err := in.Entry(key, reading(o.EvenUnavailable)...)
	if err != nil {
		return h.missed(key, err)
	}
	return in.Decode(e, into)
}

// reading are the options for an informer.
func reading(evenUnavailable bool) []informer.ReadOption {
	if evenUnavailable {
		return []informer.ReadOption{informer.EvenUnavailable}
	}
	return nil
}

// holder finds the informer that holds what Get is asked for.
func (c *Cache) holder(ctx context.Context, key object.Key, proto object.Object, o client.GetOptions) (*informer.Informer, *held, error) {
	h, err := c.reads(ctx, proto, o.Kind)
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
	in := shares[0].Informer()
	return in, h, in.Fits(proto)
}

// missed makes the error of a read by key say when there can be no object of that key.
func (h *held) missed(key object.Key, err error) error {
	if _, absent := errors.AsType[*client.NotFoundError](err); absent {
		if problem := h.problem(key); problem != "" {
			return &client.InvalidKeyError{Verb: "get", Kind: h.kind.GVK.Kind, Key: key, Problem: problem}
		}
	}
	return err
}

// problem says why there can be no object under a key, or "".
func (h *held) problem(key object.Key) string {
	switch {
	case key.Name == "":
		return "name is empty"
	case key.Namespace == "" && !h.kind.ClusterScoped:
		return "namespace is empty, the kind is namespaced"
	}
	return ""
}

// List implements client.Reader: each namespace is read from one snapshot, and labels are matched
// without decoding. Fields are matched by the index of that name, or if they are metadata.name and
// metadata.namespace; requirements must be of the form a=b, and all of them have to be met.
//
// Objects are decoded by several goroutines once there are many, see [run.Ahead]: of a loop that is
// left early up to 64, or 1 MiB of them, are decoded for nothing.
//
// Limit does not bound it; Continue starts it behind the page whose token that is.
//
// Errors end the sequence, but for *store.SetAsideError: those of Get, *store.UnknownIndexError,
// *store.IndexPendingError, and *UnsupportedError for a field selector that is not exact.
func (c *Cache) List(ctx context.Context, proto object.Object, o client.ListOptions) iter.Seq2[object.Object, error] {
	return decoded(proto, func(yield func(found) bool) {
		for f, err := range c.find(ctx, proto, o) {
			f.err = err
			if !yield(f) {
				return
			}
		}
	})
}

// Page implements client.Pager. The token of a page names its last key: the next page is read
// from the state as of then, so that tokens never expire, and a page may show what changed since
// the one before. A Limit of zero or less puts everything into one page. What cannot be decoded counts
// as well: a page may have fewer items than its Limit.
func (c *Cache) Page(ctx context.Context, proto object.Object, o client.ListOptions) (client.Page[object.Object], error) {
	page := client.Page[object.Object]{}
	var bad []error
	var failed error
	matches := func(yield func(found) bool) {
		n := int64(0)
		var last object.Key
		for f, err := range c.find(ctx, proto, o) {
			if err != nil {
				failed = err
				return
			}
			if o.Limit > 0 && n == o.Limit {
				page.Continue = token(last)
				page.Remaining = -1
				return
			}
			n, last = n+1, f.entry.Key()
			if !yield(f) {
				return
			}
		}
	}
	for obj, err := range decoded(proto, matches) {
		if err != nil {
			bad = append(bad, err)
			continue
		}
		page.Items = append(page.Items, obj)
	}
	if failed != nil {
		return client.Page[object.Object]{}, failed
	}
	return page, errors.Join(bad...)
}

// found is an entry that matches, or an error instead.
type found struct {
	in    *informer.Informer
	entry *store.Entry
	err   error
}

// decoded yields the objects of what was found, which are of the type of proto. Those of a long list
// are decoded some ahead.
func decoded(proto object.Object, all iter.Seq[found]) iter.Seq2[object.Object, error] {
	return run.Ahead(all, found.size, func(f found) (object.Object, error) {
		if f.err != nil {
			return nil, f.err
		}
		obj := reflect.New(reflect.TypeOf(proto).Elem()).Interface().(object.Object)
		if err := f.in.Decode(f.entry, obj); err != nil {
			return nil, err
		}
		return obj, nil
	})
}

func (f found) size() int {
	if f.err != nil {
		return 0
	}
	return f.entry.Size()
}

// find yields what a list matches. An error is the last.
func (c *Cache) find(ctx context.Context, proto object.Object, o client.ListOptions) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		informers, q, err := c.plan(ctx, proto, o)
		if err != nil {
			yield(found{}, err)
			return
		}
		for _, in := range informers {
			entries, err := in.Entries(q)
			if err != nil {
				yield(found{}, err)
				return
			}
			for e := range entries {
				if !yield(found{in: in, entry: e}, nil) {
					return
				}
			}
		}
	}
}
