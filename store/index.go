package store

import (
	"slices"
	"sync/atomic"

	"github.com/flyball-io/flyball/run"
)

// Indexer computes the values under which an index has an object.
type Indexer interface {
	// Values returns the values of an object; none keeps it out of the index. Order and repetition
	// do not matter. The store owns the slice afterwards and never writes to it. The entry may be
	// kept: it is immutable. But it holds the object unpacked; Compact is smaller.
	//
	// The values must depend on the entry alone. Values is called once for each stored state, one
	// call at a time. The writer waits for it; readers do not. AddIndex builds a later index in its
	// own goroutine. An error or a panic rejects the object: it is then in no index, and reads of it
	// return the error, lists by any index included. Values is not called for entries rejected for
	// another reason.
	//
	// A call that has run for a second is left behind: the writer goes on. Reads of the index
	// return an *IndexPendingError until the call has returned and the index covers the objects
	// written since. After such a call the writer waits only a tenth of a second, until a hundred
	// calls in a row have taken less.
	Values(*Entry) ([]string, error)
}

// IndexFunc is an Indexer made of a function.
type IndexFunc func(*Entry) ([]string, error)

// Values calls the function.
func (f IndexFunc) Values(e *Entry) ([]string, error) { return f(e) }

// definition is an index without its content in one state of the store. Its address is its
// identity: an index that is removed and added under the same name is a different one.
type definition struct {
	name  string
	by    Indexer
	parts partSet // parts it depends on; 0: possibly all
	// users says that it calls a user's function, which may take long. foreign says that the
	// function may keep the entries it receives.
	users, foreign bool
	// pending is set while a goroutine fills the index; no other goroutine asks it then. The holder of
	// the core guards it.
	pending *pendingIndex
	// probation is the number of quick calls still needed before the writer waits for a second
	// again.
	probation atomic.Int32
	sought    term // what the writer looks for
}

func newDefinition(name string, by Indexer) *definition {
	d := &definition{name: name, by: by, users: true, foreign: true}
	switch by := by.(type) {
	case builtin:
		d.users, d.foreign, d.parts = false, false, by.parts
	case transient:
		d.foreign = false
	}
	return d
}

// valid reports whether the index has a name and a function.
func (d *definition) valid() bool {
	f, isFunc := d.by.(IndexFunc)
	return d.name != "" && d.by != nil && (!isFunc || f != nil)
}

// answer is the result of an Indexer for an entry: sorted values without repetition, or an error.
type answer struct {
	values []string
	err    error
}

// ask calls the Indexer.
func (d *definition) ask(e *Entry) answer {
	var values []string
	err := run.Safely("", func() (err error) {
		values, err = d.by.Values(e)
		return err
	})
	if err != nil {
		return answer{err: &IndexError{Index: d.name, Err: err}}
	}
	for i := 1; i < len(values); i++ {
		if values[i-1] >= values[i] {
			values = slices.Clone(values)
			slices.Sort(values)
			return answer{values: slices.Compact(values)}
		}
	}
	return answer{values: values}
}

// terms are the values of one object in an index.
type terms struct {
	values  []string
	same    bool          // equal to those of the stored state; values is not set
	pending *pendingIndex // set: the values are not known yet
	// overrun is the call that will compute them, if one has begun.
	overrun *boundedCall
}

// ask asks every index about an entry. held is the stored entry of the same slot, or nil. If an
// index fails, ask returns a rejected entry instead. The terms are valid until the next ask.
func (c *core) ask(held, e *Entry) (*Entry, []terms) {
	indexes := c.txn.indexes
	c.terms = slices.Grow(c.terms[:0], len(indexes))[:len(indexes)]
	clear(c.terms)
	if e.rejected != nil || len(indexes) == 0 {
		return e, c.terms
	}
	same := sameParts(held, e)
	if !e.shown { // index functions may keep it
		e.shown = slices.ContainsFunc(indexes, func(x index) bool { return x.foreign })
	}
	for i := range indexes {
		d, t := indexes[i].definition, &c.terms[i]
		switch {
		case d.parts != 0 && d.parts&^same == 0:
			t.same = true
			continue
		case d.pending != nil:
			t.pending = d.pending
			continue
		}
		var a answer
		if d.users && c.bounded != nil {
			if a, t.overrun = c.bounded(d, e); t.overrun != nil {
				d.pending = t.overrun.pending
				t.pending = d.pending
				continue
			}
		} else {
			a = d.ask(e)
		}
		if a.err != nil {
			clear(c.terms)
			h, _ := e.metadata()
			return Rejected(h, a.err), c.terms
		}
		t.values = a.values
	}
	return e, c.terms
}

// index updates the indexes for the record written to a slot. It reports whether a call still uses
// the entry.
func (c *core) index(slot uint32, all []terms) (inUse bool) {
	w := c.txn
	for i, t := range all {
		switch x := &w.indexes[i]; {
		case t.pending != nil:
			x.markMissing(w.owner, slot, t.pending)
		case !t.same:
			x.set(&w.state, w.owner, slot, t.values)
		}
		if t.overrun != nil {
			inUse = true
			t.overrun.slot, t.overrun.id = slot, w.chunks.ID(w.records.Get(slot))
		}
	}
	return inUse
}
