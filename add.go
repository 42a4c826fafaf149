package flyball

import (
	"errors"
	"io"
	"slices"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/metrics"
	"github.com/flyball-io/flyball/object"
)

// What a runner may tell about itself; controllers do.
type (
	everyReplica interface{ EveryReplica() bool }
	kinds        interface{ Kinds() []object.Object }
	stateful     interface{ State() controller.State }
)

// Add has r run whenever the manager runs, in the phase [Lead], or in [Always] if it has a method
// EveryReplica that returns true; from now on if that phase runs already. If r fails, the manager
// stops and Run returns the error; if it returns nil early, the others go on. Closing what Add
// returns stops r, waits until it has ended, and makes the name free; not to be called from r
// itself, which would wait for itself.
//
// A runner that has a method State() controller.State has a check in [Manager.Ready], and one that
// has a method Kinds() []object.Object has these kinds kept in the cache while it waits for the
// lease. Controllers have all of these.
//
// The errors are [ErrNoName], [ErrNilRunner] and *[DuplicateNameError], and a *metrics.TakenError
// for a controller that says its name is that of another one.
func (m *Manager) Add(name string, r controller.Runner) (io.Closer, error) {
	p := Lead
	if e, ok := r.(everyReplica); ok && e.EveryReplica() {
		p = Always
	}
	return m.AddTo(p, name, r)
}

// AddTo is [Manager.Add] to a phase; [ErrNoPhase] is an error more.
func (m *Manager) AddTo(p Phase, name string, r controller.Runner) (io.Closer, error) {
	own, err := m.life.add(p, name, r)
	if err != nil {
		return nil, err
	}
	all := closers{closer(m.changed), own}
	if k, ok := r.(kinds); ok && p == Lead && m.elector != nil {
		warm, err := m.life.add(Always, name+" on standby", &standby{kinds: k.Kinds, cache: m.cache, logger: m.logger})
		if err != nil {
			return nil, errors.Join(err, own.Close())
		}
		all = append(all, warm)
	}
	if s, ok := r.(stateful); ok {
		all = append(all, m.watchState(name, s))
	}
	m.changed()
	if w, ok := r.(metrics.Working); ok {
		remove, err := m.metrics.AddController(w)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all = append(all, closer(remove))
	}
	return all, nil
}

// watchState has a controller looked at by the readiness checks.
func (m *Manager) watchState(name string, s stateful) closer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states[name] = s
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.states, name)
	}
}

// closers are closed one after the other, the last one first: what is known of a member goes before
// its name is free again.
type closers []io.Closer

// Close implements io.Closer.
func (c closers) Close() error {
	var errs []error
	for _, own := range slices.Backward(c) {
		errs = append(errs, own.Close())
	}
	if errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// closer is a function that is called to close something; twice is fine.
type closer func()

// Close implements io.Closer.
func (c closer) Close() error {
	c()
	return nil
}
