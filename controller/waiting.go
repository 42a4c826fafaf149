package controller

import (
	"cmp"
	"slices"
	"sync"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// waiting is an event that waits for the handler of its source.
type waiting struct {
	number uint64 // the events of a source are numbered in their order
	// passed says that predicates are not asked any more: the event passed them and the handler failed on it, or
	// it stands for several events.
	passed bool
	change store.Change
	object object.Object // an event from outside, which has no change; nil for others
}

// maxWaiting bounds the changes of one key that wait unmerged.
const maxWaiting = 8

// mergeWaiting joins the events of one key in their order. A state between two others may have an owner that neither
// has, and which needs a reconcile, too. So changes are kept apart, up to maxWaiting. Beyond that it merges the newest
// two: what was merged passes the predicates unasked, since a change from A to B and back differs from nothing, and a
// reconcile may have read B. Of resyncs that follow each other it keeps the latest. An event from outside is never
// merged.
func mergeWaiting(first, then []waiting) []waiting {
	all := slices.Concat(first, then)
	slices.SortStableFunc(all, func(a, b waiting) int { return cmp.Compare(a.number, b.number) })
	for i := len(all) - 1; i > 0; i-- {
		if all[i].change.Resync && all[i-1].change.Resync {
			all = slices.Delete(all, i-1, i)
		}
	}
	for last := len(all) - 1; last >= maxWaiting && all[last].object == nil; last-- {
		all[last-1] = join(all[last-1], all[last])
		all = slices.Delete(all, last, last+1)
	}
	return all
}

// join merges two changes that follow each other.
func join(a, b waiting) waiting {
	c := a.change.Merge(b.change)
	if b.change.Resync {
		c.New = b.change.New // a predicate may have stopped a change between a and b
	}
	return waiting{number: b.number, passed: true, change: c}
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

// waits reports whether the handler was not called yet for objects of the first list that have come.
func (d *initialEvents) waits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.keys) > 0
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
