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

// terms are the values of one object in every index that holds it. They are kept with the object,
// so that taking it out of the indexes does not depend on a function of the user's.
type terms []struct {
	index  *definition
	values []string
}

func (t *terms) of(d *definition) []string {
	if t != nil {
		for i := range *t {
			if (*t)[i].index == d {
				return (*t)[i].values
			}
		}
	}
	return nil
}

// termsOf asks every index about an entry. If one fails, the entry returned stands for the object
// instead, set aside. The terms it had before are used again if they are the same still.
func termsOf(indexes []index, e *Entry, before *terms) (*Entry, *terms) {
	if e.aside != nil || len(indexes) == 0 {
		return e, nil
	}
	var t terms
	changed := before == nil
	for i := range indexes {
		d := indexes[i].definition
		values, err := d.values(e)
		if err != nil {
			return SetAside(e.header, err), nil
		}
		if was := before.of(d); slices.Equal(was, values) {
			values = was
		} else {
			changed = true
		}
		t = t.with(d, values)
	}
	switch {
	case len(t) == 0:
		return e, nil
	case !changed && len(t) == len(*before):
		return e, before
	}
	return e, &t
}

func (t terms) with(d *definition, values []string) terms {
	if len(values) == 0 {
		return t
	}
	return append(t, struct {
		index  *definition
		values []string
	}{d, values})
}
