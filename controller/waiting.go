package controller

import (
	"cmp"
	"slices"
	"sync"

	"github.com/flyball-io/flyball/delta"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// waiting is an event that a source has not dealt with.
type waiting struct {
	number uint64 // events of a source are numbered as they come
	// failed says that the predicates let it pass, and the handler failed on it.
	failed bool
	change store.Change
	object object.Object // of an event from outside; then there is no change
}

// mostWaiting is how many events of a key are kept apart.
const mostWaiting = 8

// mergeWaiting puts the events of one key in their order, and keeps the latest as they were: a state
// between two others may be that of a child whose owner waits to hear of it. Beyond mostWaiting two
// are merged. A resync waits behind nothing: another look at the object is to come anyway.
func mergeWaiting(first, then []waiting) []waiting {
	all := slices.Concat(first, then)
	slices.SortStableFunc(all, func(a, b waiting) int { return cmp.Compare(a.number, b.number) })
	for i := 1; i < len(all); i++ {
		if all[i].object == nil && all[i].change.Resync && all[i-1].object == nil {
			all = slices.Delete(all, i, i+1)
			i--
		}
	}
	for len(all) > mostWaiting {
		at := least(all)
		merged := all[at+1]
		if a, b := &all[at], &merged; a.object == nil && b.object == nil {
			b.change = store.Change(delta.Merge(delta.Change[*store.Entry](a.change), delta.Change[*store.Entry](b.change)))
			b.failed = a.failed || b.failed
		}
		all[at+1] = merged
		all = slices.Delete(all, at, at+1)
	}
	return all
}

// least is the place of the event whose new state matters least: the oldest after which nothing but the
// status changed, or else the oldest.
func least(all []waiting) int {
	for i := range len(all) - 1 {
		if next := all[i+1].change; next.Old != nil && next.New != nil && !next.Replaced() && sameButStatus(next.Old, next.New) {
			return i
		}
	}
	return 0
}

func sameButStatus(a, b *store.Entry) bool {
	was, is := a.Digest(), b.Digest()
	return a.Err() == nil && b.Err() == nil && a.SameOwners(b) &&
		was.Labels == is.Labels && was.Annotations == is.Annotations && was.Spec == is.Spec
}

// compact is a change to be held for long.
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

// delivery tells when the handler was called for all that a source had at the start.
type delivery struct {
	mu   sync.Mutex
	keys map[object.Key]struct{} // for which it was not called so far
	done chan struct{}           // nil: more of the start may come; closed: all was
}

// came says that an event waits, took that the handler was called for what waited of a key.
func (d *delivery) came(key object.Key) {
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

func (d *delivery) took(key object.Key) {
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

// all says that nothing more of the start comes, and returns what to wait for until the handler was
// called for all of it; nil if it was.
func (d *delivery) all() <-chan struct{} {
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
