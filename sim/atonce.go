package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/sim/internal/draw"
	"github.com/flyball-io/flyball/sim/internal/judge"
	"github.com/flyball-io/flyball/sim/internal/plan"
	"github.com/flyball-io/flyball/sim/internal/search"
	"github.com/flyball-io/flyball/sim/internal/world"
)

// made is what an object comes to that is made at once, in a world of its own.
type made struct {
	once, lateOnce sync.Once
	// states has the state at rest, and late that an hour later; none if the server refuses the object. The second one
	// takes longer than all else, so it is found out only when the first one is not met.
	states, late []judge.State
	// idle says that the program has made or changed nothing but the object itself. stuck says that the server has
	// refused a write of the program. conditions has the status of each condition of the object, by type.
	idle, stuck bool
	conditions  map[string]string
	err         error
}

// madeOf makes an object at once.
func (x *explorer) madeOf(t *testing.T, e *draw.Edit) *made {
	text := compact(e)
	x.mu.Lock()
	m := x.made[text]
	if m == nil {
		m = &made{}
		x.made[text] = m
	}
	x.mu.Unlock()
	m.once.Do(func() { x.make(t, m, e) })
	return m
}

// waitFor finds out what an object comes to an hour later.
func (x *explorer) waitFor(t *testing.T, m *made, e *draw.Edit) {
	m.lateOnce.Do(func() {
		c := x.of(course{states: []*draw.Edit{e}})
		c.Steps = append(c.Steps, Step{"nothing", func(*resources, *world.User) error { return nil }})
		last := len(c.Steps)
		x.ran()
		out := c.bubble(t, c.config(plan.Plan{{Kind: plan.Hour, At: plan.Point{Step: last, Verb: "begin", Object: "step", Nth: 1}}}))
		if len(out.Settles) > last {
			v := out.Settles[last].View
			m.late = []judge.State{c.stateOf(v, v)}
		}
	})
}

func (x *explorer) make(t *testing.T, m *made, e *draw.Edit) {
	c := x.of(course{states: []*draw.Edit{e}})
	before := len(x.Steps)
	x.ran()
	out := c.bubble(t, c.config(nil))
	if out.Err != nil && !refused(out.Err) {
		m.err = out.Err
	}
	if len(out.Settles) <= before+1 {
		return
	}
	at := out.Settles[before+1].View
	m.states = []judge.State{c.stateOf(at, at)}
	differences := judge.Differ(c.stateOf(out.Settles[before].View, out.Settles[before].View), m.states[0], false)
	m.idle = len(x.others(differences)) == 0
	m.stuck = slices.ContainsFunc(out.Trace, func(e world.Entry) bool {
		return e.Code == http.StatusBadRequest || e.Code == http.StatusForbidden || e.Code == http.StatusUnprocessableEntity
	})
	m.conditions = x.conditionsOf(at)
}

// others returns the differences that are not of the object itself.
func (x *explorer) others(all []judge.Difference) (out []judge.Difference) {
	for _, d := range all {
		if d.Object != x.name {
			out = append(out, d)
		}
	}
	return out
}

// conditionsOf returns the status of each condition of the object, by type.
func (x *explorer) conditionsOf(v core.View) map[string]string {
	var doc struct {
		Status struct{ Conditions []metav1.Condition }
	}
	out := map[string]string{}
	if o := v.Get(x.key); o == nil || json.Unmarshal(o.JSON, &doc) != nil {
		return out
	}
	for _, c := range doc.Status.Conditions {
		out[c.Type] = string(c.Status)
	}
	return out
}

// bad reports whether the program may not manage an object, as far as can be seen from outside: it makes nothing for it,
// a write is refused, or its conditions are others than those of the object that the program manages well. Then what it
// has made for an earlier object may stay.
func (m *made) bad(good *made) bool {
	return m.idle && !good.idle || m.stuck && !good.stuck || !maps.Equal(m.conditions, good.conditions)
}

// try runs a course, and judges it. It returns the checker of its steps, and reports false if the server refuses a state.
func (x *explorer) try(t *testing.T, co course) (*checker, search.Result, bool) {
	c, r, ok := x.tryOnce(t, co)
	if len(r.Failures) == 0 || x.History || len(r.Plan) > 0 { // else a state was not met
		return c, r, ok
	}
	for _, e := range co.states {
		if e != nil {
			x.waitFor(t, x.madeOf(t, e), e)
		}
	}
	return x.tryOnce(t, co)
}

// tryOnce is try with what is known of objects that are made at once.
func (x *explorer) tryOnce(t *testing.T, co course) (*checker, search.Result, bool) {
	good := x.madeOf(t, &draw.Edit{})
	all := make([]*made, len(co.states))
	for i, e := range co.states {
		if e != nil {
			all[i] = x.madeOf(t, e)
		}
	}
	c := x.of(co)
	before := len(x.Steps)
	c.loose = map[int]bool{}
	for i, m := range all {
		c.loose[before+1+i] = m != nil && (x.History || m.bad(good))
	}
	states := make([]judge.State, len(c.Steps)+1)
	wrong := func(s world.Settle, v core.View) (out []string) {
		states[s.Step] = c.stateOf(v, v)
		if err := c.invariants(v, s.Step); err != nil {
			out = append(out, err.Error())
		}
		if i := s.Step - before - 1; i >= 0 {
			out = append(out, x.wrong(all[i], good, states, s.Step)...)
		}
		return out
	}
	o := c.config(nil)
	o.Stop = true
	o.Same = func(s world.Settle, v core.View) bool { return len(wrong(s, v)) == 0 }
	x.ran()
	r := search.Result{Outcome: c.bubble(t, o), FailedStep: -1}
	if refused(r.Outcome.Err) {
		return c, r, false
	}
	r.Failures = append(r.Failures, r.Outcome.Alarms...)
	for _, s := range r.Outcome.Settles {
		problems := append(wrong(s, s.View), s.Caches...)
		if len(problems) > 0 && r.FailedStep < 0 {
			r.FailedStep = s.Step
		}
		r.Failures = append(r.Failures, problems...)
	}
	if r.Outcome.Err != nil {
		r.Failures = append(r.Failures, r.Outcome.Err.Error())
	}
	for _, m := range all {
		if m != nil && m.err != nil && len(r.Failures) == 0 {
			r.Failures = append(r.Failures, fmt.Sprintf("made at once: %v", m.err))
		}
	}
	c.refersTo(r.Outcome)
	if len(r.Failures) > 0 || len(co.plan) == 0 {
		return c, r, true
	}
	x.ran()
	return c, c.run(t, co.plan), true
}

// wrong says what of the state after a step is wrong. Want is what the object comes to when it is made at once; nil: it
// is deleted.
func (x *explorer) wrong(want, good *made, states []judge.State, step int) []string {
	got := states[step]
	switch {
	case want == nil:
		return told(judge.Differ(states[len(x.Steps)], got, false), "before the object was made", "the object is deleted, and ")
	case x.History:
		return nil
	}
	var least []judge.Difference
	for _, s := range slices.Concat(want.states, want.late) {
		differences := judge.Differ(s, got, false)
		if want.bad(good) {
			differences = slices.DeleteFunc(x.others(differences), func(d judge.Difference) bool { return !changed(states[step-1], got, d) })
		}
		if len(differences) == 0 {
			return nil
		}
		if least == nil {
			least = differences
		}
	}
	return told(least, "when the object is made at once", "")
}

// changed reports whether the object of a difference is another one than it was.
func changed(was, is judge.State, of judge.Difference) bool {
	return slices.ContainsFunc(judge.Differ(was, is, false), func(d judge.Difference) bool { return d.Object == of.Object })
}

// told returns differences with their fields.
func told(all []judge.Difference, when, before string) (out []string) {
	for _, d := range all {
		what := before + d.String()
		if before == "" && d.What != "differs" {
			what += ", and not " + when
		}
		out = append(out, strings.Join(append([]string{what}, d.Fields(maxFields, when)...), "\n  "))
	}
	return out
}
