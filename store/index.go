package store

import (
	"slices"
	"sync/atomic"

	"github.com/flyball-io/flyball/run"
)

// Indexer says under which values an index finds an object.
type Indexer interface {
	// Values are those of an object; none if it is not to be found. Order and repetition do not matter.
	// The slice is the store's from then on and is never written to. The entry may be kept: it stays as
	// it is. But it has the object unpacked; Compact is smaller.
	//
	// They must depend on the entry alone. Values is called once for each state that is stored, one call
	// at a time, while the writer waits, with readers unaffected; an index added later is built in the
	// goroutine of AddIndex. An error or a panic sets the object aside: it is then in no index at all, and
	// reported where it is read. Entries set aside for another reason are not shown.
	//
	// A call that has run for a second is left to itself: the writer goes on, and reads of the index are an
	// *IndexPendingError until it has returned and the index has been asked about what was written since.
	// After such a call the writer waits a tenth of a second only, until a hundred calls in a row have
	// taken less.
	Values(*Entry) ([]string, error)
}

// Partial is an Indexer that looks at some parts of an object only, which do not change themselves: it
// is not asked again for a state in which all of these parts are as they were before. No parts: it may
// look at all.
type Partial interface {
	Indexer
	Parts() []Part
}

// IndexFunc is an Indexer.
type IndexFunc func(*Entry) ([]string, error)

// Values calls the function.
func (f IndexFunc) Values(e *Entry) ([]string, error) { return f(e) }

// definition is an index, apart from what it holds in one state of the store. Its address is its
// identity: an index removed and added again under one name is another.
type definition struct {
	name  string
	by    Indexer
	parts partSet // that it looks at; 0: it may be all
	// users says that it calls a function of a user, which may take long, and foreign that this one may
	// keep the entries that it is shown.
	users, foreign bool
	// late is set while somebody asks about what is missing: nobody else does then. It belongs to
	// whoever has the Core.
	late *pending
	// probation is how many calls in a row are to be quick before the writer waits for long again.
	probation atomic.Int32
}

func newDefinition(name string, by Indexer) *definition {
	d := &definition{name: name, by: by, users: true, foreign: true}
	switch by.(type) {
	case readyMade:
		d.users, d.foreign = false, false
	case partial:
		d.foreign = false
	}
	if p, ok := by.(Partial); ok {
		d.parts = setOf(p.Parts())
	}
	return d
}

// valid reports whether there is a name and something to ask.
func (d *definition) valid() bool {
	f, isFunc := d.by.(IndexFunc)
	return d.name != "" && d.by != nil && (!isFunc || f != nil)
}

// answer is what an index said about an entry: values that are sorted, without repetition, or an error.
type answer struct {
	values []string
	err    error
}

// ask asks the Indexer.
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
	values []string
	same   bool     // as those of the state that is stored, which are not told
	late   *pending // they are not known yet
	// overrun is the call that is to say them, if one has begun.
	overrun *asked
}

// ask asks every index about an entry whose slot has held now, if it is not nil. If one fails, the
// entry returned stands for the object instead, set aside. The answer is good until the next ask.
func (c *Core) ask(held, e *Entry) (*Entry, []terms) {
	indexes := c.work.indexes
	c.terms = slices.Grow(c.terms[:0], len(indexes))[:len(indexes)]
	clear(c.terms)
	if e.aside != nil || len(indexes) == 0 {
		return e, c.terms
	}
	same := sameParts(held, e)
	if !e.shown { // from here on somebody else may look
		e.shown = slices.ContainsFunc(indexes, func(x index) bool { return x.foreign })
	}
	for i := range indexes {
		d, t := indexes[i].definition, &c.terms[i]
		switch {
		case d.parts != 0 && d.parts&^same == 0:
			t.same = true
			continue
		case d.late != nil:
			t.late = d.late
			continue
		}
		var a answer
		if d.users && c.bounded != nil {
			if a, t.overrun = c.bounded(d, e); t.overrun != nil {
				d.late = t.overrun.late
				t.late = d.late
				continue
			}
		} else {
			a = d.ask(e)
		}
		if a.err != nil {
			clear(c.terms)
			return SetAside(e.metadata(), a.err), c.terms
		}
		t.values = a.values
	}
	return e, c.terms
}

// index brings the indexes in step with the record that was written for a slot. It reports whether
// somebody still looks at the entry.
func (c *Core) index(slot uint32, all []terms) (lent bool) {
	w := c.work
	for i, t := range all {
		switch x := &w.indexes[i]; {
		case t.late != nil:
			x.miss(w.owner, slot, t.late)
		case !t.same:
			x.set(&w.state, w.owner, slot, t.values)
		}
		if t.overrun != nil {
			lent = true
			t.overrun.slot, t.overrun.id = slot, w.chunks.ID(w.records.Get(slot))
		}
	}
	return lent
}
