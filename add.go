package flyball

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/life"
	"github.com/flyball-io/flyball/internal/readiness"
	"github.com/flyball-io/flyball/object"
)

// Add runs a function in a phase whenever the manager runs; at once, if that phase runs already. run
// works until ctx ends, and returns when all its goroutines have ended. If it returns an error of its
// own, the manager stops and Run returns that error. If it returns nil early, the others go on.
//
// Closing the result stops the function, waits until it has returned, and frees the name. The function
// must not close itself: it would wait for itself.
//
// The errors are *[option.Error] and *[DuplicateNameError].
func (m *Manager) Add(phase Phase, name string, run func(context.Context) error) (io.Closer, error) {
	added, err := m.life.Add(life.Phase(phase), name, run)
	if err != nil {
		return nil, addError(name, err)
	}
	m.changed()
	return closers{closer(m.changed), added}, nil
}

// AddController runs a controller in the phase [Lead], or in [Always] if its EveryReplica is true.
// controller.New calls it. It is [Manager.Add] with three things beside: a check in [Manager.Ready], the
// metrics, and, with Options.Leader, the kinds of the controller in the caches of standbys, of all clusters.
//
// The errors are those of Add, and a *metrics.TakenError for a name that is another controller's in the
// metrics.
func (m *Manager) AddController(c controller.Interface) (io.Closer, error) {
	if c == nil {
		return nil, life.BadAdd("controller", "is nil")
	}
	phase := life.Lead
	if c.EveryReplica() {
		phase = life.Always
	}
	added, err := m.life.AddDoing(phase, c.Name(), c.Run, func() string { return c.Reconciles().String() })
	if err != nil {
		return nil, addError(c.Name(), err)
	}
	all := closers{closer(m.changed), added}
	if phase == life.Lead && m.elector != nil {
		for _, at := range m.allClusters() {
			s := &standby{cluster: at, controller: c, in: m.in(at)}
			name := strings.TrimSuffix(c.Name()+" on standby in "+at.cluster, " in ")
			warm, err := m.life.Add(life.Always, name, s.Run)
			if err != nil {
				return nil, errors.Join(addError(name, err), all.Close())
			}
			all = append(all, warm)
		}
	}
	all = append(all, m.checked(c))
	m.changed()
	remove, err := m.metrics.AddController(c)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return append(all, closer(remove)), nil
}

// addError names the member that has the name already.
func addError(name string, err error) error {
	if errors.Is(err, life.ErrTaken) {
		return &DuplicateNameError{name}
	}
	return err
}

// checked adds the state of a controller to the readiness checks and to the debug pages.
func (m *Manager) checked(c controller.Interface) closer {
	checked := readiness.Controller{Interface: c, Kinds: func() []schema.GroupKind { return kindsOf(c.Kinds(nil)) }}
	for _, at := range m.allClusters() {
		for _, kind := range kindsOf(c.OptionalKinds(m.in(at))) {
			checked.Optional = append(checked.Optional, readiness.Kind{Cluster: at.cluster, GroupKind: kind})
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.controllers[c.Name()] = checked
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.controllers, c.Name())
	}
}

// kindsOf are the kinds that objects name.
func kindsOf(all []object.Object) (kinds []schema.GroupKind) {
	for _, o := range all {
		kinds = append(kinds, o.GetObjectKind().GroupVersionKind().GroupKind())
	}
	return kinds
}

// in returns what the methods of controllers of m take for a cluster.
func (m *Manager) in(cluster *Manager) controller.Manager {
	if cluster == m {
		return nil
	}
	return cluster
}

// closers close one after the other, the last one first. So the checks and metrics of a member end before
// its name is free again.
type closers []io.Closer

// Close implements io.Closer.
func (c closers) Close() error {
	var errs []error
	for _, one := range slices.Backward(c) {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// closer is a function that closes something. It may be called twice.
type closer func()

// Close implements io.Closer.
func (c closer) Close() error {
	c()
	return nil
}
