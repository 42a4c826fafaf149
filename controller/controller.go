package controller

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/workqueue"
)

// Controller is the handle of one controller. All methods may be called from any goroutine. It implements
// [Interface].
type Controller[R comparable] struct {
	name       string
	mgr        Manager
	reconciler reconcile.Reconciler[R]
	o          Options
	sources    []Source[R]
	logger     *slog.Logger
	member     io.Closer

	mu      sync.Mutex
	state   State
	current *running[R] // nil while Run does not run
}

// State is the state of a controller at one time.
type State struct {
	Phase Phase
	// Err is why the controller does not do its work, or not all of it. It is a *SyncError with the sources that
	// have not synced: while it syncs for those with a known cause, while it works for all. Else it is a
	// *FailingError while the controller works and a source has failed for five minutes without a break. It is
	// nil for failures of single objects: see SourceFailures, and the status of the objects.
	Err error
}

// Phase is a part of the life of a controller.
type Phase uint8

const (
	// Stopped: Run is not running.
	Stopped Phase = iota
	// Syncing: sources hand over the existing objects; workers have not started. See Options.CacheSyncTimeout.
	Syncing
	// Working: workers reconcile. Sources that failed at the start may be missing: State.Err names them.
	Working
	// Stopping: no new reconcile starts; running ones may finish.
	Stopping
)

func (p Phase) String() string {
	switch p {
	case Stopped:
		return "stopped"
	case Syncing:
		return "syncing"
	case Working:
		return "working"
	case Stopping:
		return "stopping"
	}
	return "unknown"
}

// New makes a controller and adds it to the manager:
//
//	controller.New(mgr, "label", label, controller.For[corev1.Pod]())
//
// The manager runs it: at once if the manager runs already, and with the others otherwise. The
// reconciler determines the type of the requests. For the default type, object keys, exactly one
// source is [For].
//
// An error names what is wrong, and nothing is added then. It is an *option.Error, whose
// cause may be an *object.UnknownKindError or a *TypeMismatchError; or the manager's error,
// for a name that is taken.
func New[R comparable](mgr Manager, name string, r reconcile.Reconciler[R], sources ...Source[R]) (*Controller[R], error) {
	return NewWith(mgr, name, r, Options{}, sources...)
}

// NewWith is [New] with options.
func NewWith[R comparable](mgr Manager, name string, r reconcile.Reconciler[R], o Options, sources ...Source[R]) (*Controller[R], error) {
	if name == "" {
		return nil, badOption(name, "name", errNoName)
	}
	if r == nil {
		return nil, badOption(name, "reconciler", errNoReconciler)
	}
	o, err := o.resolved(name)
	if err != nil {
		return nil, err
	}
	fed, err := resolve(name, sources, mgr)
	if err != nil {
		return nil, err
	}
	base := o.Logger
	if base == nil {
		base = mgr.Logger()
	}
	o.Hooks = o.Hooks.and(mgr.ControllerHooks(name, o.Workers))
	if o.Resync == 0 {
		o.Resync = mgr.ResyncPeriod()
	}
	c := &Controller[R]{
		name: name, mgr: mgr, reconciler: r, o: o, sources: fed,
		logger: logguard.Logger(base).With("controller", name),
	}
	if c.member, err = mgr.AddController(c); err != nil {
		return nil, fmt.Errorf("controller %q: %w", name, err)
	}
	return c, nil
}

// Name is the name that the controller was given.
func (c *Controller[R]) Name() string { return c.name }

// EveryReplica is Options.EveryReplica.
func (c *Controller[R]) EveryReplica() bool { return c.o.EveryReplica }

// Kinds are the kinds watched in the cluster of a manager, each once, in the order of the sources; nil stands
// for the manager of the controller. Each is an empty object of the Go type of [For], [Owns] or [Watches],
// with apiVersion and kind set. The objects belong to the caller.
func (c *Controller[R]) Kinds(in Manager) []object.Object {
	return c.kinds(in, func(*Source[R]) bool { return true })
}

// OptionalKinds are the kinds with a source that is [Source.Optional].
func (c *Controller[R]) OptionalKinds(in Manager) []object.Object {
	return c.kinds(in, func(s *Source[R]) bool { return s.optional })
}

func (c *Controller[R]) kinds(in Manager, which func(*Source[R]) bool) []object.Object {
	if in == nil {
		in = c.mgr
	}
	var out []object.Object
	seen := map[kindForm]bool{}
	for i := range c.sources {
		s := &c.sources[i]
		if s.proto == nil || s.from != in || !which(s) {
			continue
		}
		form := kindForm{s.gvk, reflect.TypeOf(s.proto)}
		if seen[form] {
			continue
		}
		seen[form] = true
		kind := reflect.New(form.goType.Elem()).Interface().(object.Object)
		kind.GetObjectKind().SetGroupVersionKind(s.gvk)
		out = append(out, kind)
	}
	return out
}

// kindForm distinguishes the metadata of a kind from its whole objects.
type kindForm struct {
	gvk    schema.GroupVersionKind
	goType reflect.Type
}

// State is the present state.
func (c *Controller[R]) State() State {
	r, s := c.present()
	if s.Phase == Working && s.Err == nil && r != nil {
		if s.Err = r.unsynced(false); s.Err == nil {
			s.Err = r.failing(time.Now())
		}
	}
	return s
}

// QueueStats are the figures of the queue, zero while the controller does not run.
func (c *Controller[R]) QueueStats() workqueue.Stats {
	if r, _ := c.present(); r != nil {
		return r.queue.Stats()
	}
	return workqueue.Stats{}
}

// QueueDepths are the numbers of requests that wait for a worker, by priority; none while the controller does
// not run.
func (c *Controller[R]) QueueDepths() []workqueue.Depth {
	if r, _ := c.present(); r != nil {
		return r.queue.Depths()
	}
	return nil
}

// present is the current run, nil if there is none, and the state. Callers use the run without the lock of the
// controller: it calls functions of the user, which may call State.
func (c *Controller[R]) present() (*running[R], State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current, c.state
}

// Enqueue queues a request, as an event from outside the cluster does. It reports false and does nothing if the
// controller does not run or stops. When it starts it reconciles every object of its sources.
func (c *Controller[R]) Enqueue(req R) bool {
	r, s := c.present()
	if r == nil || s.Phase == Stopping {
		return false
	}
	r.request(req)
	return true
}

// Close ends the controller and removes it from the manager. No new reconcile starts. After the grace period
// the running ones are cancelled. Close returns when they have ended, with the error of the last run. A
// reconcile, predicate or handler of the same controller must not call it: it would wait for itself. Closing
// twice is fine.
func (c *Controller[R]) Close() error { return c.member.Close() }

// Run works until ctx ends. Managers call it. It may be called again after it has returned.
//
// Then it takes no new work. Running reconciles may finish within the grace period, and are cancelled after it
// with [ErrGraceEnded] as the cause. Run returns when all have ended. The error is ErrGraceEnded if reconciles
// were cancelled so, a *SyncError or a *run.PanicError where the options ask for one, and nil otherwise. It is
// nil too after an abort, whose caller knows the cause; see [WithAbort].
func (c *Controller[R]) Run(ctx context.Context) error {
	r, err := newRunning(c)
	if err != nil {
		return err
	}
	c.mu.Lock()
	if c.current != nil {
		c.mu.Unlock()
		return fmt.Errorf("controller %q: %w", c.name, run.ErrRunning)
	}
	c.current, c.state = r, State{Phase: Syncing}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.current, c.state = nil, State{Phase: Stopped, Err: c.state.Err}
	}()
	return r.run(ctx)
}

func (c *Controller[R]) set(p Phase, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = State{Phase: p, Err: err}
}

// setStopping keeps the error.
func (c *Controller[R]) setStopping() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Phase = Stopping
}
