package handlers

import (
	"context"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Feed is an informer of Flyball with the handlers and index functions of client-go on it. They share what is
// decoded. Any goroutine may call its methods.
type Feed struct {
	in      *informer.Informer
	decoded *decoded
	ended   context.Context

	any atomic.Bool // there are handlers
	mu  sync.Mutex
	all map[*Registration]struct{}
}

// NewFeed returns the feed of an informer. empty returns a new object for an entry, and clean, if it is not nil, is
// called with each decoded object in place of objects.Untag. ended ends with the informer; its cause is the error of
// those who join later.
func NewFeed(ended context.Context, in *informer.Informer, empty func() (object.Object, error), clean func(object.Object)) *Feed {
	f := &Feed{in: in, ended: ended, decoded: newDecoded(empty, in.Decode), all: map[*Registration]struct{}{}}
	if clean != nil {
		f.decoded.clean = clean
	}
	return f
}

// New returns an empty object of the kind.
func (f *Feed) New() (object.Object, error) { return f.decoded.new() }

// AddIndex adds an index by a function of decoded objects, which it must not change. It shares them with
// handlers and other indexes. Errors are those of informer.Informer.AddIndex.
func (f *Feed) AddIndex(name string, values func(runtime.Object) ([]string, error)) error {
	f.decoded.indexes.Add(1)
	return f.in.AddIndex(name, store.Transient(func(e *store.Entry) ([]string, error) {
		o, err := f.decoded.index(e, f.in.HasSynced() && f.any.Load())
		if err != nil {
			return nil, err
		}
		return values(o)
	}))
}

// RemoveHandlers removes all handlers.
func (f *Feed) RemoveHandlers() {
	for _, r := range f.list() {
		r.Remove()
	}
}

// add adds a handler, unless it is removed. The error is the cause of the end.
func (f *Feed) add(r *Registration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended.Err() != nil {
		return context.Cause(f.ended)
	}
	if r.removed() { // later, Remove finds it here
		return nil
	}
	f.all[r] = struct{}{}
	f.any.Store(true)
	return nil
}

func (f *Feed) drop(r *Registration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, r)
	f.any.Store(len(f.all) > 0)
}

func (f *Feed) list() []*Registration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*Registration
	for r := range f.all {
		all = append(all, r)
	}
	return all
}

// Stats is the sum of the figures of all handlers.
func (f *Feed) Stats() informer.Stats {
	var sum informer.Stats
	for _, r := range f.list() {
		s := r.Stats()
		sum.Pending += s.Pending
		sum.Merged += s.Merged
		sum.Delivered += s.Delivered
		sum.Panics += s.Panics
	}
	return sum
}
