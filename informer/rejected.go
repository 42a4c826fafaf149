package informer

import (
	"maps"
	"slices"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
)

// rejected is an object whose present state is unusable.
type rejected struct {
	entry *store.Entry
	err   error
}

// Rejected returns the rejected objects, in the order of their keys. Some objects are rejected at their first
// use, such as by a handler that decodes them.
func (in *Informer) Rejected() []Problem {
	in.mu.Lock()
	defer in.mu.Unlock()
	all := make([]Problem, 0, len(in.rejected))
	for _, key := range slices.SortedFunc(maps.Keys(in.rejected), object.Key.Compare) {
		all = append(all, in.rejected[key].problem(in))
	}
	return all
}

func (a *rejected) problem(in *Informer) Problem {
	return Problem{Kind: in.o.Kind.GVK, Key: a.entry.Key(), ResourceVersion: a.entry.ResourceVersion(), Err: a.err}
}

// reject records that an entry is unusable. It reports each version once. It ignores an entry that is no longer
// in the store.
func (in *Informer) reject(e *store.Entry, cause error) {
	key, a := e.Key(), &rejected{entry: e.Compact(), err: cause}
	in.mu.Lock()
	known := in.rejected[key]
	present, _ := in.store.Snapshot().Lookup(key)
	first := present.Same(e) && (known == nil || !known.entry.Same(e))
	if first {
		in.rejected[key] = a
	}
	in.mu.Unlock()
	if first {
		in.log.Error("object rejected", "object", key.String(), "resourceVersion", e.ResourceVersion(), "err", cause)
		in.problem(a.problem(in))
	}
}

// updateRejected updates the rejected objects after an applied change.
func (in *Informer) updateRejected(c store.Change) {
	in.mu.Lock()
	if a := in.rejected[c.Key]; a != nil && !a.entry.Same(c.New) {
		delete(in.rejected, c.Key)
	}
	in.mu.Unlock()
	if c.New != nil && c.New.Err() != nil {
		in.reject(c.New, c.New.Err())
	}
}

// rejectedError rejects an entry, and returns the error for its reader.
func (in *Informer) rejectedError(e *store.Entry, cause error) error {
	in.reject(e, cause)
	return &store.RejectedError{Resource: in.o.Kind.Resource.GroupResource(), Key: e.Key(), Err: cause}
}

// reportUnusable reports an unusable object or frame without a name.
func (in *Informer) reportUnusable(u *reflector.Update) {
	in.log.Error("unusable data from the server", "resourceVersion", u.ResourceVersion, "err", u.Err)
	in.problem(Problem{Kind: in.o.Kind.GVK, Key: u.Key, ResourceVersion: u.ResourceVersion, Err: u.Err})
}

// panicked reports a panic of a source or handler. OnProblem gets each panic. The log gets the first five, then
// one a minute with the number of suppressed ones.
func (in *Informer) panicked(r *Registration, c store.Change, err error) {
	p := Problem{Kind: in.o.Kind.GVK, Key: c.Key, Handler: r.name, Err: err}
	if c.New != nil {
		p.ResourceVersion = c.New.ResourceVersion()
	}
	in.problem(p)
	r.lines.Next(in.log).Error("handler panicked", logguard.ErrAttrs(err, "handler", r.name, "object", c.Key.String())...)
}

func (in *Informer) problem(p Problem) {
	if in.o.OnProblem == nil {
		return
	}
	in.hook("OnProblem", func() { in.o.OnProblem(p) })
}
