package controller

import (
	"cmp"
	"slices"
	"sync"

	"github.com/flyball-io/flyball/internal/delta"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// waiting is an event that waits for the handler of its source.
type waiting struct {
	number uint64 // the events of a source are numbered in their order
	// failed says that the event passed the predicates, and the handler failed on it.
	failed bool
	change store.Change
	object object.Object // an event from outside, which has no change; nil for others
}

// maxWaiting is the most events of one key that wait unmerged.
const maxWaiting = 8

// mergeWaiting joins the events of one key in their order, up to maxWaiting: a state between two others may have an
// owner that neither has, and which needs a reconcile, too. Beyond that it merges two. A resync behind another event is dropped: the
// handler sees the object anyway.
func mergeWaiting(first, then []waiting) []waiting {
	all := slices.Concat(first, then)
	slices.SortStableFunc(all, func(a, b waiting) int { return cmp.Compare(a.number, b.number) })
	for i := 1; i < len(all); i++ {
		if all[i].object == nil && all[i].change.Resync && all[i-1].object == nil {
			all = slices.Delete(all, i, i+1)
			i--
		}
	}
	for len(all) > maxWaiting {
		at := leastRelevant(all)
		merged := all[at+1]
		if a, b := &all[at], &merged; a.object == nil && b.object == nil {
			b.change = delta.Merge(a.change, b.change)
			b.failed = a.failed || b.failed
		}
		all[at+1] = merged
		all = slices.Delete(all, at, at+1)
	}
	return all
}

// leastRelevant is the index of the event to merge into its successor: the oldest one after which only the status
// changed, else the oldest.
func leastRelevant(all []waiting) int {
	for i := range len(all) - 1 {
		if next := all[i+1].change; next.Old != nil && next.New != nil && !next.Replaced() && sameButStatus(next.Old, next.New) {
			return i
		}
	}
	return 0
}

// sameButStatus reports whether two versions differ in nothing but the status, as far as the digests tell.
func sameButStatus(a, b *store.Entry) bool {
	was, is := a.Digest(), b.Digest()
	return a.Err() == nil && b.Err() == nil && a.SameOwners(b) &&
		was.Labels == is.Labels && was.Annotations == is.Annotations && was.Spec == is.Spec
}

// compact returns a change whose entries take little memory, to be held for long.
func compact(c store.Change) store.Change {
	same, final := c.New == c.Old, c.Last == c.Old
	c.Old = c.Old.Compact()
	if c.New = c.New.Compact(); same {
		c.New = c.Old
	}
	if c.Last = c.Last.Compact(); final {
		c.Last = c.Old
	}
	return c
}

// initialEvents tells when the handler was called for all objects that a source had at the start.
type initialEvents struct {
	mu   sync.Mutex
	keys map[object.Key]struct{} // keys with events that wait for their first call
	done chan struct{}           // nil: the first list is not complete; closed: the handler was called for all of it
}

// queued records an event of the first list that waits.
func (d *initialEvents) queued(key object.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done != nil {
		return
	}
	if d.keys == nil {
		d.keys = map[object.Key]struct{}{}
	}
	d.keys[key] = struct{}{}
}

// handled records that the handler was called for the waiting events of a key.
func (d *initialEvents) handled(key object.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.keys[key]; !ok {
		return
	}
	if delete(d.keys, key); len(d.keys) == 0 && d.done != nil {
		close(d.done)
		d.keys = nil
	}
}

// complete records that the first list is complete. It returns a channel that is closed when the handler was called for
// all of it, nil if it was.
func (d *initialEvents) complete() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done == nil {
		d.done = make(chan struct{})
	}
	if len(d.keys) == 0 {
		return nil
	}
	return d.done
}
