package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { leaktest.Main(servertest.Wrap(m)) }

var (
	errTaken  = errors.New("name is taken")
	theScheme = scheme.New()
)

// manager is a controller.Manager. The test makes the changes of its watches.
type manager struct {
	grace  time.Duration
	logger *slog.Logger

	mu      sync.Mutex
	members map[string]controller.Interface
	watches map[string]*watch // by kind
	refuse  func(kind string) error
}

func newManager() *manager {
	return &manager{
		grace: 30 * time.Second, logger: slog.New(slog.DiscardHandler),
		members: map[string]controller.Interface{}, watches: map[string]*watch{},
	}
}

func (m *manager) Scheme() *runtime.Scheme     { return theScheme }
func (m *manager) Logger() *slog.Logger        { return m.logger }
func (m *manager) GracePeriod() time.Duration  { return m.grace }
func (m *manager) ResyncPeriod() time.Duration { return 0 }

func (m *manager) ControllerHooks(string, int) controller.Hooks { return controller.Hooks{} }

func (m *manager) Mapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	return mapper
}

func (m *manager) AddController(c controller.Interface) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.members[c.Name()] != nil {
		return nil, errTaken
	}
	m.members[c.Name()] = c
	return nil, nil
}

func (m *manager) Subscribe(_ context.Context, proto object.Object, _ string, fn func(store.Change)) (controller.Subscription, error) {
	gvks, _, err := theScheme.ObjectKinds(proto)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil {
		if err := m.refuse(gvks[0].Kind); err != nil {
			return nil, err
		}
	}
	w := m.watchLocked(gvks[0].Kind)
	w.fn = fn
	return w, nil
}

// watch is the watch of a kind, which the controller may open later.
func (m *manager) watch(kind string) *watch {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watchLocked(kind)
}

func (m *manager) watchLocked(kind string) *watch {
	if m.watches[kind] == nil {
		m.watches[kind] = &watch{kind: kind, synced: make(chan struct{})}
	}
	return m.watches[kind]
}

// watch hands over the changes that a test makes. Old is the state after the change before.
type watch struct {
	kind   string
	fn     func(store.Change)
	synced chan struct{}

	calls  sync.Mutex // one call after another, none after Close
	last   map[object.Key]*store.Entry
	closed bool

	mu  sync.Mutex
	bad error
}

func (w *watch) Synced() <-chan struct{} { return w.synced }

func (w *watch) ResyncEvery(time.Duration) {}

func (w *watch) Waiting() (map[string]error, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.synced:
		return nil, 1
	default:
		return map[string]error{"": w.bad}, 1
	}
}

func (w *watch) Resync() {
	w.calls.Lock()
	defer w.calls.Unlock()
	for key, e := range w.last {
		if e != nil && !w.closed {
			w.fn(store.Change{Key: key, Old: e, New: e, Resync: true})
		}
	}
}

func (w *watch) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bad = err
}

func (w *watch) Close() {
	w.calls.Lock()
	defer w.calls.Unlock()
	w.closed = true
}

// set hands over an object that was created or changed, or, if initially, existed at the start.
func (w *watch) set(o object.Object, initially bool) {
	e := testobj.Entry(o)
	w.change(object.KeyOf(o), func(c *store.Change) { c.New, c.Initial = e, initially })
}

// apply hands over an entry that was created or changed.
func (w *watch) apply(key object.Key, e *store.Entry) {
	w.change(key, func(c *store.Change) { c.New = e })
}

// remove hands over the deletion of an object.
func (w *watch) remove(key object.Key) {
	w.change(key, func(c *store.Change) { c.Last = c.Old })
}

func (w *watch) change(key object.Key, fill func(*store.Change)) {
	w.calls.Lock()
	defer w.calls.Unlock()
	if w.last == nil {
		w.last = map[object.Key]*store.Entry{}
	}
	c := store.Change{Key: key, Old: w.last[key]}
	fill(&c)
	w.last[key] = c.New
	if !w.closed {
		w.fn(c)
	}
}

// latest is the version of an object that the cache would show.
func (w *watch) latest(key object.Key) string {
	w.calls.Lock()
	defer w.calls.Unlock()
	if e := w.last[key]; e != nil {
		return e.Header().ResourceVersion
	}
	return ""
}

// numbered sets UID and version.
func numbered(name string, version int) testobj.Option {
	return func(o object.Object) {
		testobj.UID(types.UID("uid-of-" + name))(o)
		testobj.Version(fmt.Sprint(version))(o)
	}
}

func deployment(name string, version int) *appsv1.Deployment {
	return testobj.Deployment("web/"+name, numbered(name, version))
}

func pod(name string, version int, owner string) *corev1.Pod {
	p := testobj.Pod("web/"+name, numbered(name, version))
	if owner != "" {
		testobj.OwnedBy(metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: owner, UID: "o", Controller: new(true)})(p)
	}
	return p
}

func key(name string) reconcile.Request { return reconcile.Request{Namespace: "web", Name: name} }

// recorder is a reconciler that records its calls. answer, if not nil, makes its result.
type recorder struct {
	mu      sync.Mutex
	begun   []string // "name trigger×count"
	times   []time.Time
	seen    []reconcile.Cause
	answer  func(ctx context.Context, req reconcile.Request, n int) (reconcile.Result, error)
	running int
}

func (r *recorder) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c := reconcile.CauseFrom(ctx)
	r.mu.Lock()
	r.begun = append(r.begun, fmt.Sprintf("%s %s×%d", req.Name, c.Trigger, c.Count))
	r.times = append(r.times, time.Now())
	r.seen = append(r.seen, c)
	n := len(r.begun)
	r.running++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running--
	}()
	if r.answer == nil {
		return reconcile.Result{}, nil
	}
	return r.answer(ctx, req, n)
}

func (r *recorder) calls() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.begun...)
}

// gaps are the times between the calls.
func (r *recorder) gaps() (gaps []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 1; i < len(r.times); i++ {
		gaps = append(gaps, r.times[i].Sub(r.times[i-1]))
	}
	return gaps
}

// start runs a controller in the bubble of the test; stop ends it and returns what Run returned.
func start[R comparable](c *controller.Controller[R]) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-done
	}
}

// newController makes one or fails the test.
func newController[R comparable](t *testing.T, m *manager, r reconcile.Reconciler[R], o controller.Options, sources ...controller.Source[R]) *controller.Controller[R] {
	t.Helper()
	c, err := controller.NewWith(m, "test", r, o, sources...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func forDeployments() controller.Source[reconcile.Request] {
	return controller.For[appsv1.Deployment]()
}

var (
	podGVK  = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodeGVK = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
)

// pass lets virtual time pass, and waits until all goroutines are idle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
