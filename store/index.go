package store

import (
	"slices"

	"github.com/flyball-io/flyball/run"
)

// IndexFunc gives the values under which an index finds an object; none if it is not to be found
// there. Order and repetition do not matter. The slice is the store's from then on and is never
// written to.
//
// It must depend on the entry alone. It is called once for each state that is stored, by the
// writer, with readers unaffected; an index added later is built in the goroutine of AddIndex. An
// error or a panic sets the object aside: it is then in no index at all, and reported where it is
// read. Entries set aside for another reason are not shown to index functions.
type IndexFunc func(*Entry) ([]string, error)

// definition is an index, apart from what it holds in one state of the store. Its address is its
// identity: an index removed and added again under one name is another.
type definition struct {
	name string
	fn   IndexFunc
}

// values calls the function. The result is sorted, without repetition.
func (d *definition) values(e *Entry) (values []string, err error) {
	err = run.Safely("", func() (err error) {
		values, err = d.fn(e)
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

// terms are the values of one object in each index of a state; nil: none in any.
type terms [][]string

func (t terms) at(i int) []string {
	if i >= len(t) {
		return nil
	}
	return t[i]
}

// termsOf asks every index about an entry. If one fails, the entry returned stands for the object
// instead, set aside.
func termsOf(indexes []index, e *Entry) (*Entry, terms) {
	if e.aside != nil || len(indexes) == 0 {
		return e, nil
	}
	t := make(terms, len(indexes))
	for i := range indexes {
		values, err := indexes[i].values(e)
		if err != nil {
			return SetAside(*e.Header(), err), nil
		}
		t[i] = values
	}
	return e, t
}
