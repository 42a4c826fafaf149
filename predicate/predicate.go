// Package predicate says which changes matter to a controller.
//
//	informer ── store.Change ──► Predicate ── true ──► handler ──► requests
//
// The ready-made predicates never decode an object: they compare what the cache keeps of it, which
// are its version, its generation and digests of its labels, annotations, spec and status, and read
// its header where that is not enough. Typed predicates ([New]) decode, which costs some ten
// microseconds for each change.
//
// A predicate saves work; it never decides what is right. So whatever cannot be judged passes: an
// object that was set aside or cannot be decoded, one object that took the name of another, and,
// where controllers call it, a predicate that panics.
package predicate

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Predicate decides whether an event is handed on. It must not change what it is shown. Calls for one
// watch of a controller are made one after another, but one predicate may serve several watches. One
// that takes long delays its controller and nobody else, and is named after a second; see [NeverBlocks].
type Predicate interface {
	// Match reports whether the change of an object is handed on. With an error it is.
	Match(c store.Change) (bool, error)
	// MatchGeneric reports whether an event from outside the cluster is handed on. With an error
	// it is.
	MatchGeneric(o object.Object) (bool, error)
}

// Func is a predicate over changes that reads no more than their headers and never fails. Events
// from outside the cluster pass.
type Func func(c store.Change) bool

// Match calls f.
func (f Func) Match(c store.Change) (bool, error) { return f(c), nil }

// MatchGeneric is true.
func (f Func) MatchGeneric(object.Object) (bool, error) { return true, nil }

// NeverBlocks reports whether a predicate is one of this package that runs no function of its user.
// Controllers ask such ones on the goroutine that applies changes to the cache, and any other on a
// goroutine of their own.
func NeverBlocks(p Predicate) bool {
	q, ok := p.(interface{ neverBlocks() bool })
	return ok && q.neverBlocks()
}

func noneBlocks(ps []Predicate) bool {
	return !slices.ContainsFunc(ps, func(p Predicate) bool { return !NeverBlocks(p) })
}

func (ps and) neverBlocks() bool         { return noneBlocks(ps) }
func (ps or) neverBlocks() bool          { return noneBlocks(ps) }
func (n not) neverBlocks() bool          { return NeverBlocks(n.p) }
func (n namespaces) neverBlocks() bool   { return true }
func (s selected) neverBlocks() bool     { return true }
func (builtin) neverBlocks() bool        { return true }
func (viewChanged[V]) neverBlocks() bool { return true }

// builtin is a Func of this package.
type builtin struct{ Func }

// And passes what all of ps pass, asked in their order until one says no. And() passes everything.
func And(ps ...Predicate) Predicate { return and(slices.Clone(ps)) }

// Or passes what at least one of ps passes, asked in their order until one says yes. Or() passes
// nothing.
func Or(ps ...Predicate) Predicate { return or(slices.Clone(ps)) }

// Not passes what p does not. An error of p stays an error, so the event still passes.
func Not(p Predicate) Predicate { return not{p} }

type and []Predicate

func (ps and) Match(c store.Change) (bool, error) {
	return ps.all(func(p Predicate) (bool, error) { return p.Match(c) })
}

func (ps and) MatchGeneric(o object.Object) (bool, error) {
	return ps.all(func(p Predicate) (bool, error) { return p.MatchGeneric(o) })
}

func (ps and) all(match func(Predicate) (bool, error)) (bool, error) {
	var errs []error
	for _, p := range ps {
		ok, err := match(p)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !ok:
			return false, nil
		}
	}
	return true, errors.Join(errs...)
}

type or []Predicate

func (ps or) Match(c store.Change) (bool, error) {
	return ps.any(func(p Predicate) (bool, error) { return p.Match(c) })
}

func (ps or) MatchGeneric(o object.Object) (bool, error) {
	return ps.any(func(p Predicate) (bool, error) { return p.MatchGeneric(o) })
}

func (ps or) any(match func(Predicate) (bool, error)) (bool, error) {
	var errs []error
	for _, p := range ps {
		ok, err := match(p)
		switch {
		case err != nil:
			errs = append(errs, err)
		case ok:
			return true, nil
		}
	}
	return len(errs) > 0, errors.Join(errs...)
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

// InNamespace passes objects of the named namespaces; "" stands for cluster-scoped objects.
func InNamespace(names ...string) Predicate { return namespaces(slices.Clone(names)) }

type namespaces []string

func (n namespaces) Match(c store.Change) (bool, error) {
	return slices.Contains(n, c.Key.Namespace), nil
}

func (n namespaces) MatchGeneric(o object.Object) (bool, error) {
	return slices.Contains(n, o.GetNamespace()), nil
}

// Labels passes objects that s selects before or after the change: an object whose labels change
// so that it is no longer selected passes one last time. A nil selector passes nothing.
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
