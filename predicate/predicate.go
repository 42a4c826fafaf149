// Package predicate decides which changes reach a controller. Pass predicates to the controller
// with a watch:
//
//	controller.For[appsv1.Deployment](predicate.GenerationChanged())
//
// [And], [Or] and [Not] combine predicates. [New] makes one of functions over a Go type. An event
// that no predicate stops goes to the handler:
//
//	informer ── store.Change ──► Predicate ── true ──► handler ──► requests
//
// The built-in predicates never decode an object. They compare the fields that the cache keeps of
// it: its version, its generation, and digests of its labels, annotations, spec and status. If that
// is not enough, they read its header. Typed predicates ([New]) decode, which costs some ten
// microseconds for each change.
//
// A predicate saves work. It never decides what is right, so every event passes that it cannot
// judge. That is an event of a quarantined object, of one that cannot be decoded, or of one that
// took the name of another. In a controller it is also any event at which the predicate panics.
package predicate

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/internal/inline"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Predicate decides whether an event reaches the handler. It must not change the objects that it
// sees. A controller calls it for one change after another of a watch, but one predicate may serve
// several watches. A slow predicate delays only its controller, and is reported after a second. Those
// of this package that call no function of their user run on the goroutine that applies changes to
// the cache, any other on a goroutine of its own.
type Predicate interface {
	// Match reports whether the change of an object passes. With an error it passes.
	Match(c store.Change) (bool, error)
	// MatchGeneric reports whether an event from outside the cluster passes. With an error it
	// passes.
	MatchGeneric(o object.Object) (bool, error)
}

// Func is a predicate over changes that reads only their headers and never fails. Events from
// outside the cluster pass.
type Func func(c store.Change) bool

// Match calls f.
func (f Func) Match(c store.Change) (bool, error) { return f(c), nil }

// MatchGeneric returns true.
func (f Func) MatchGeneric(object.Object) (bool, error) { return true, nil }

func (s several) NeverBlocks(inline.Mark) bool {
	return !slices.ContainsFunc(s.ps, func(p Predicate) bool { return !inline.NeverBlocks(p) })
}

func (n not) NeverBlocks(inline.Mark) bool          { return inline.NeverBlocks(n.p) }
func (n namespaces) NeverBlocks(inline.Mark) bool   { return true }
func (s selected) NeverBlocks(inline.Mark) bool     { return true }
func (builtin) NeverBlocks(inline.Mark) bool        { return true }
func (viewChanged[V]) NeverBlocks(inline.Mark) bool { return true }

// builtin is a Func of this package.
type builtin struct{ Func }

// And passes an event that all of ps pass. It calls them in order until one does not. And() passes
// everything.
func And(ps ...Predicate) Predicate { return several{slices.Clone(ps), false} }

// Or passes an event that at least one of ps passes. It calls them in order until one does. Or()
// passes nothing.
func Or(ps ...Predicate) Predicate { return several{slices.Clone(ps), true} }

// Not passes an event that p does not pass. An error of p stays an error, so the event passes.
func Not(p Predicate) Predicate { return not{p} }

// several is And or Or. It calls its predicates in order until one returns decided.
type several struct {
	ps      []Predicate
	decided bool
}

func (s several) Match(c store.Change) (bool, error) {
	return s.ask(func(p Predicate) (bool, error) { return p.Match(c) })
}

func (s several) MatchGeneric(o object.Object) (bool, error) {
	return s.ask(func(p Predicate) (bool, error) { return p.MatchGeneric(o) })
}

func (s several) ask(match func(Predicate) (bool, error)) (bool, error) {
	var errs []error
	for _, p := range s.ps {
		ok, err := match(p)
		switch {
		case err != nil:
			errs = append(errs, err)
		case ok == s.decided:
			return ok, nil
		}
	}
	return len(errs) > 0 || !s.decided, errors.Join(errs...)
}

type not struct{ p Predicate }

func (n not) Match(c store.Change) (bool, error) {
	ok, err := n.p.Match(c)
	return !ok || err != nil, err
}

func (n not) MatchGeneric(o object.Object) (bool, error) {
	ok, err := n.p.MatchGeneric(o)
	return !ok || err != nil, err
}

// InNamespace passes objects of the named namespaces. "" names cluster-scoped objects.
func InNamespace(names ...string) Predicate { return namespaces(slices.Clone(names)) }

type namespaces []string

func (n namespaces) Match(c store.Change) (bool, error) {
	return slices.Contains(n, c.Key.Namespace), nil
}

func (n namespaces) MatchGeneric(o object.Object) (bool, error) {
	return slices.Contains(n, o.GetNamespace()), nil
}

// Labels passes objects that s selects before or after the change. So an object whose labels no
// longer match passes one last time. A nil selector passes nothing.
func Labels(s labels.Selector) Predicate {
	if s == nil {
		s = labels.Nothing()
	}
	return selected{s}
}

type selected struct{ labels.Selector }

func (s selected) Match(c store.Change) (bool, error) {
	for _, e := range []*store.Entry{c.New, c.Old, c.Last} {
		if e != nil && (e.Err() != nil || e.Selected(s)) {
			return true, nil
		}
	}
	return false, nil
}

func (s selected) MatchGeneric(o object.Object) (bool, error) {
	return s.Matches(labels.Set(o.GetLabels())), nil
}
