package store

import (
	"slices"

	"github.com/flyball-io/flyball/run"
)

// Indexer says under which values an index finds an object.
type Indexer interface {
	// Values are those of an object; none if it is not to be found. Order and repetition do not matter.
	// The slice is the store's from then on and is never written to. The entry may be kept: it stays as
	// it is. But it has the object unpacked; Compact is smaller.
	//
	// They must depend on the entry alone. Values is called once for each state that is stored, by the
	// writer, with readers unaffected; an index added later is built in the goroutine of AddIndex. An
	// error or a panic sets the object aside: it is then in no index at all, and reported where it is
	// read. Entries set aside for another reason are not shown.
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
	// foreign says that it is a user's, who may keep the entries that it is shown.
	foreign bool
}

func newDefinition(name string, by Indexer) *definition {
	_, own := by.(partial)
	d := &definition{name: name, by: by, foreign: !own}
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

// values asks the Indexer. The result is sorted, without repetition.
func (d *definition) values(e *Entry) (values []string, err error) {
	err = run.Safely("", func() (err error) {
		values, err = d.by.Values(e)
		return err
	})
	if err != nil {
		return nil, &IndexError{Index: d.name, Err: err}
	}
	for i := 1; i < len(values); i++ {
		if values[i-1] >= values[i] {
			values = slices.Clone(values)
			slices.Sort(values)
			return slices.Compact(values), nil
		}
	}
	return values, nil
}

// terms are the values of one object in an index.
type terms struct {
	values []string
	same   bool // as those of the state that is stored, which are not told
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
	for i := range indexes {
		d := indexes[i].definition
		if d.parts != 0 && d.parts&^same == 0 {
			c.terms[i].same = true
			continue
		}
		e.shown = e.shown || d.foreign
		values, err := d.values(e)
		if err != nil {
			clear(c.terms)
			return SetAside(e.metadata(), err), c.terms
		}
		c.terms[i].values = values
	}
	return e, c.terms
}
