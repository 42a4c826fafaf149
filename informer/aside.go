package informer

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// aside is an object that cannot be used in its present state.
type aside struct {
	entry *store.Entry
	err   error
}

// SetAside lists the objects that cannot be used at present, as far as anyone has tried to, in
// the order of their keys.
func (in *Informer) SetAside() []Problem {
	in.mu.Lock()
	defer in.mu.Unlock()
	all := make([]Problem, 0, len(in.asides))
	for _, key := range slices.SortedFunc(maps.Keys(in.asides), object.Key.Compare) {
		all = append(all, in.asides[key].problem(in))
	}
	return all
}

func (a *aside) problem(in *Informer) Problem {
	return Problem{Kind: in.o.Kind.GVK, Key: a.entry.Key(), ResourceVersion: a.entry.ResourceVersion(), Err: a.err}
}

// aside notes that an entry cannot be used, and reports that the first time it is heard of this
// version. Of an entry that is not the present one any more there is nothing to report.
func (in *Informer) aside(e *store.Entry, cause error) {
	key, a := e.Key(), &aside{entry: e.Compact(), err: cause}
	in.mu.Lock()
	known := in.asides[key]
	present, _ := in.store.Snapshot().Lookup(key)
	first := present.Same(e) && (known == nil || !known.entry.Same(e))
	if first {
		in.asides[key] = a
	}
	in.mu.Unlock()
	if first {
		in.log.Error("object set aside", "object", key, "resourceVersion", e.ResourceVersion(), "err", cause)
		in.problem(a.problem(in))
	}
}

// tidy brings the list of what is set aside in step with a change that was applied.
func (in *Informer) tidy(c store.Change) {
	in.mu.Lock()
	if a := in.asides[c.Key]; a != nil && !a.entry.Same(c.New) {
		delete(in.asides, c.Key)
	}
	in.mu.Unlock()
	if c.New != nil && c.New.Err() != nil {
		in.aside(c.New, c.New.Err())
	}
}

// unusable makes the error for a reader who met an entry that cannot be used.
func (in *Informer) unusable(e *store.Entry, cause error) error {
	in.aside(e, cause)
	return &store.SetAsideError{Resource: in.o.Kind.Resource.GroupResource(), Key: e.Key(), Err: cause}
}

// garbage reports something that came and does not even have a name.
func (in *Informer) garbage(p reflector.Problem) {
	in.log.Error("unusable data from the server", "resourceVersion", p.ResourceVersion, "err", p.Err)
	in.problem(Problem{Kind: in.o.Kind.GVK, Key: p.Key, ResourceVersion: p.ResourceVersion, Err: p.Err})
}

// panicked reports a panic of a source or handler: to the hook each one, in the log the first few
// and then one a minute, which says how many were not logged.
func (in *Informer) panicked(r *Registration, c store.Change, err error) {
	p := Problem{Kind: in.o.Kind.GVK, Key: c.Key, Handler: r.name, Err: err}
	if c.New != nil {
		p.ResourceVersion = c.New.ResourceVersion()
	}
	in.problem(p)
	if !r.quiet.TryTake(time.Now()) {
		r.unsaid++
		return
	}
	attrs := []any{"handler", r.name, "object", c.Key, "err", err, "unsaid", r.unsaid}
	if p, ok := errors.AsType[*run.PanicError](err); ok {
		attrs = append(attrs, "stack", string(p.Stack))
	}
	r.unsaid = 0
	in.log.Error("handler panicked", attrs...)
}

func (in *Informer) problem(p Problem) {
	if in.o.OnProblem == nil {
		return
	}
	in.hook("OnProblem", func() { in.o.OnProblem(p) })
}
