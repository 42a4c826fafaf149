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

// Controller is the handle of one controller: close it to end it, ask it how it is.
// All methods may be called from any goroutine.
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
	current *running[R] // while Run runs
}

// State is where a controller stands. It is a copy.
type State struct {
	Phase Phase
	// Err is why the controller is not doing its work, though it should be: a *SyncError while
	// something known keeps a source from syncing, a *FailingError while it works and a source has
	// failed for five minutes without a break. Failures of single objects are none: see
	// SourceFailures, and the status of the objects.
	Err error
}

// Phase is the part of its life that a controller is in.
type Phase uint8

const (
	// Stopped: Run is not running.
	Stopped Phase = iota
	// Syncing: sources are handing over what exists; workers have not started.
	Syncing
	// Working: workers reconcile.
	Working
	// Stopping: no new reconcile starts; running ones are waited for.
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

// New makes a controller and adds it to the manager, which runs it: with the others when it is
// run itself, or at once if it runs already. The type of the requests is that of the reconciler;
// with the default one, object keys, exactly one source is [For].
//
// Errors name what is wrong: an *option.Error around one of the package's sentinels, an
// *object.UnknownKindError or a *TypeMismatchError; a name that is taken is the manager's error.
// Nothing is added then.
func New[R comparable](mgr Manager, name string, r reconcile.Reconciler[R], o Options, sources ...Source[R]) (*Controller[R], error) {
	if name == "" {
		return nil, badOption(name, "name", ErrNoName)
	}
	if isNil(r) {
		return nil, badOption(name, "reconciler", ErrNoReconciler)
	}
	o, err := o.resolved(name)
	if err != nil {
		return nil, err
	}
	fed, err := resolve(name, sources, mgr.Scheme())
	if err != nil {
		return nil, err
	}
	base := o.Logger
	if base == nil {
		base = mgr.Logger()
	}
	if h, ok := mgr.(Instrumented); ok {
		o.Hooks = o.Hooks.and(h.ControllerHooks(name, o.Workers))
	}
	if m, ok := mgr.(Resyncing); ok && o.Resync == 0 {
		o.Resync = m.ResyncPeriod()
	}
	c := &Controller[R]{
		name: name, mgr: mgr, reconciler: r, o: o, sources: fed,
		logger: logguard.Logger(base).With("controller", name),
	}
	if c.member, err = mgr.Add(name, c); err != nil {
		return nil, fmt.Errorf("controller %q: %w", name, err)
	}
	return c, nil
}

// Name is the name that the controller was given.
func (c *Controller[R]) Name() string { return c.name }

// EveryReplica reports whether the controller runs on every replica of its program, as
// Options.EveryReplica says. Managers ask it.
func (c *Controller[R]) EveryReplica() bool { return c.o.EveryReplica }

// Kinds are the kinds that the controller watches, each once, as [For], [Owns] and [Watches] name
// them: empty objects that belong to the caller, of the Go type that was given, with apiVersion and
// kind set. The controller lists and watches them, and may be asked before it runs.
func (c *Controller[R]) Kinds() []object.Object {
	var out []object.Object
	seen := map[kindForm]bool{}
	for i := range c.sources {
		s := &c.sources[i]
		if s.proto == nil {
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

// kindForm tells metadata of a kind from its whole objects.
type kindForm struct {
	gvk    schema.GroupVersionKind
	goType reflect.Type
}

// State says where the controller stands.
func (c *Controller[R]) State() State {
	r, s := c.now()
	if s.Phase == Working && s.Err == nil && r != nil {
		s.Err = r.failing(time.Now())
	}
	return s
}

// QueueStats are the figures of the controller's queue; zero while it does not run.
func (c *Controller[R]) QueueStats() workqueue.Stats {
	if r, _ := c.now(); r != nil {
		return r.queue.Stats()
	}
	return workqueue.Stats{}
}

// QueueDepths are how many requests wait for a worker, by priority; none while it does not run.
func (c *Controller[R]) QueueDepths() []workqueue.Depth {
	if r, _ := c.now(); r != nil {
		return r.queue.Depths()
	}
	return nil
}

// now is the current run, if there is one, and the state. The run is asked without the lock of the
// controller: it calls functions of the user, which may ask the controller for its state.
func (c *Controller[R]) now() (*running[R], State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current, c.state
}

// Enqueue asks for a reconcile, as an event from outside the cluster does. It reports false when
// the controller does not run: it will look at every object of its sources when it starts.
func (c *Controller[R]) Enqueue(req R) bool {
	r, s := c.now()
	if r == nil || s.Phase == Stopping {
		return false
	}
	r.request(req)
	return true
}

// Close ends the controller for good and takes it out of the manager: no new reconcile starts,
// and Close returns when the running ones have ended, or have been cancelled after the grace
// period and have ended then. The error is that of its last run. Not to be called from a
// reconcile, a predicate or a handler of the same controller, which would wait for itself.
// Closing twice is fine.
func (c *Controller[R]) Close() error { return c.member.Close() }

// Run works until ctx ends. Managers call it; see [Runner].
//
// It then takes no new work, lets running reconciles finish for as long as the grace period
// lasts, cancels those that have not with [ErrGraceEnded] as the cause, and returns when all
// have ended. The error is nil, or ErrGraceEnded if reconciles had to be cancelled, or a
// *SyncError or a *run.PanicError where the options ask for one. Where an abort has cancelled
// them (see [WithAbort]) it is nil: whoever did that knows.
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

// isNil reports whether v is nil, or a nil pointer or function in an interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan, reflect.Slice:
		return r.IsNil()
	}
	return false
}
