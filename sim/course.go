package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/sim/internal/draw"
	"github.com/flyball-io/flyball/sim/internal/plan"
	"github.com/flyball-io/flyball/sim/internal/world"
)

// course is what is done to the object of an exploration, and what goes wrong meanwhile.
//
//	[{},{"set":{"/spec/size":0}},null] crash-after@2:create:secrets/default/a
//
// It is named by content, so that it survives changes of the generator and of the schema.
type course struct {
	// states has what the object is to be, one after the other, as edits of that of Exploration.From. nil deletes it.
	states []*draw.Edit
	plan   plan.Plan
}

// String returns the course as one line.
func (c course) String() string {
	if len(c.plan) == 0 {
		return compact(c.states)
	}
	return compact(c.states) + " " + c.plan.String()
}

// compact returns a value as JSON in one line, as a person writes it.
func compact(v any) string {
	var b strings.Builder
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// parseCourse reads what [course.String] has written.
func parseCourse(text string) (c course, err error) {
	from := json.NewDecoder(strings.NewReader(text))
	if err := from.Decode(&c.states); err != nil {
		return c, fmt.Errorf("it begins with a list of edits in JSON: %w", err)
	}
	c.plan, err = plan.Parse(text[from.InputOffset():])
	return c, err
}

// without returns the course without a state, whose step has a number. Faults of later steps come one step earlier.
func (c course) without(i, step int) course {
	out := course{states: slices.Delete(slices.Clone(c.states), i, i+1)}
	for _, f := range c.plan {
		if f.At.Step == step {
			continue
		}
		if f.At.Step > step {
			f.At.Step--
		}
		if f.Until >= step {
			f.Until--
		}
		out.plan = append(out.plan, f)
	}
	return out
}

// smaller returns courses with one thing less: a state, a fault, or a change of a state. First is the step of the first
// state.
func (c course) smaller(first int) (out []course) {
	for i := range c.states {
		if len(c.states) > 1 {
			out = append(out, c.without(i, first+i))
		}
	}
	for i := range c.plan {
		out = append(out, course{c.states, slices.Delete(slices.Clone(c.plan), i, i+1)})
	}
	for i, e := range c.states {
		if e == nil {
			continue
		}
		for _, less := range e.Smaller() {
			states := slices.Clone(c.states)
			states[i] = &less
			out = append(out, course{states, c.plan})
		}
	}
	return out
}

// refusedError says that the server refuses a state.
type refusedError struct{ error }

// put makes the object what a document says, as [Apply] does.
func (x *explorer) put(known *resources, u *world.User, doc map[string]any) error {
	url, err := x.url(known, u)
	if err != nil {
		return err
	}
	if err := failed(u.Do(http.MethodPatch, url+"?fieldManager=user&force=true", "application/apply-patch+yaml", []byte(compact(doc)))); err != nil {
		return refusedError{err}
	}
	return nil
}

// drop deletes the object, if it is there.
func (x *explorer) drop(known *resources, u *world.User) error {
	url, err := x.url(known, u)
	if err != nil {
		return err
	}
	a := u.Do(http.MethodDelete, url, "application/json", []byte(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`))
	if a.Code == http.StatusNotFound {
		return nil
	}
	return failed(a)
}

func (x *explorer) url(known *resources, u *world.User) (string, error) {
	return known.urlOf(u.View(), x.object.GetAPIVersion(), x.object.GetKind(), x.object.GetNamespace(), x.object.GetName())
}

// step returns the step that makes the object what an edit says.
func (x *explorer) step(e *draw.Edit) Step {
	if e == nil {
		return Step{"delete " + x.name, x.drop}
	}
	name := "apply " + x.name
	for _, c := range e.Changes() {
		name += " " + c.String()
	}
	doc := e.Apply(x.base)
	return Step{name, func(known *resources, u *world.User) error { return x.put(known, u, doc) }}
}

// refused reports whether a run ended because the server refused a state.
func refused(err error) bool {
	var r refusedError
	return errors.As(err, &r)
}
