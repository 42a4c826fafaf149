package faults_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/ledger"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
	"github.com/flyball-io/flyball/test/servertest"
)

// rig is a program that watches the ConfigMaps of a namespace, writers that change them, and a
// ledger in which both record what they know.
//
//	writers ── direct ──────────────► server
//	   │                                │
//	   ▼                       proxy or gateway, which break
//	 ledger ◄── views: handler,         │
//	            source, reconciler ◄── manager
type rig struct {
	*testing.T
	direct *client.Live // to the server, without the fault
	ns     string
	mgr    *flyball.Manager
	ctl    *controller.Controller[reconcile.Request]
	kind   *cache.Handle
	reg    *informer.Registration // of the handler
	asked  requests
	state  changes // signals changes of the watch

	keys    int // number of keys that the writers use
	writers []*writer

	mu       sync.Mutex
	book     *ledger.Ledger
	views    views
	counted  map[string]*tally
	problems []informer.Problem
	shown    []error // errors in the state of the watch

	listed     int // lists until the sync: of pages, if the streaming list came too late
	goroutines int // at the sync
	heap       int64
	began      time.Time
	stop       func() error
}

// views are the views of one book.
type views struct{ handler, source, reconciler *ledger.View }

// tally counts the events of one observer.
type tally struct{ added, deleted, missed, replaced int }

// setup describes the program of a rig.
type setup struct {
	config  *rest.Config // of the program; nil: direct
	tune    func(*reflector.Options)
	keys    int // for the writers; zero: 40
	client  client.Options
	also    func(*rig) // called before the manager runs
	manager flyball.Options
}

// server is a control plane, or an API server in memory.
type server interface{ RESTConfig() *rest.Config }

// start runs a program, and returns when it has seen 40 ConfigMaps that the writers made.
func start(t *testing.T, p server, s setup) *rig {
	t.Helper()
	direct := dial(t, p.RESTConfig())
	ns := "default" // of a server for this test alone
	switch p := p.(type) {
	case *servertest.Server:
		ns = servertest.Namespace(t, p)
	case *plane.Plane:
		ns = planetest.Namespace(t, p)
	}
	r := &rig{T: t, direct: direct, ns: ns, keys: max(s.keys, 8), state: newChanges(), began: time.Now()}
	if s.keys == 0 {
		r.keys = 40
	}
	if s.config == nil {
		s.config = p.RESTConfig()
	}
	r.newBook()
	o := s.manager
	o.Name, o.Config, o.Client, o.GracePeriod = "rig", s.config, s.client, 5*time.Second
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	o.Client.Hook = r.asked.note
	o.Cache.Namespaces = []string{r.ns}
	o.Cache.OnProblem = r.problem
	o.Cache.Configure = func(io *informer.Options) {
		io.Reflector.OnState = r.changed
		if s.tune != nil {
			s.tune(&io.Reflector)
		}
	}
	var err error
	r.mgr, err = flyball.New(o)
	must(t, err)
	r.ctl, err = controller.NewWith(r.mgr, "rig", r.reconcile,
		controller.Options{Workers: 4}, controller.For[corev1.ConfigMap]())
	must(t, err)
	r.observe()
	if s.also != nil {
		s.also(r)
	}
	r.stop = running(t, r.mgr)
	r.churn(2 * r.keys)
	r.await("sync", func(s reflector.State) bool { return s.HasSynced })
	r.seen()
	r.listed = r.lists()
	r.goroutines, r.heap = measure(t)
	return r
}

// observe adds a source and a handler.
func (r *rig) observe() {
	r.Helper()
	var err error
	r.kind, err = r.mgr.Cache().Open(r.Context(), &corev1.ConfigMap{}, client.Selection{})
	must(r.T, err)
	_, err = r.kind.Informer().Subscribe("source", func(c store.Change) {
		n := r.tally("source")
		switch {
		case c.New == nil && c.Old == nil: // created and deleted before any observer saw it
			return
		case c.New == nil:
			r.count(&n.deleted)
			if c.Missed {
				r.count(&n.missed)
			}
			r.view().source.Gone(c.Key)
			return
		case c.Old == nil:
			r.count(&n.added)
		case c.Old.Header().UID != c.New.Header().UID:
			r.count(&n.replaced)
		}
		r.view().source.SawHeader(c.New.Header())
	})
	must(r.T, err)
	n := r.tally("handler")
	r.reg, err = informer.AddHandler(r.kind.Informer(), informer.Handler[corev1.ConfigMap]{
		OnAdd: func(o *corev1.ConfigMap, _ bool) { r.count(&n.added); r.view().handler.Saw(o) },
		OnUpdate: func(old, o *corev1.ConfigMap) {
			if old.UID != o.UID {
				r.count(&n.replaced)
			}
			r.view().handler.Saw(o)
		},
		OnDelete: func(o *corev1.ConfigMap, missed bool) {
			r.count(&n.deleted)
			if missed {
				r.count(&n.missed)
			}
			r.view().handler.Gone(object.KeyOf(o))
		},
	})
	must(r.T, err)
}

// reconcile records the state that it reads.
func (r *rig) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	view := r.view().reconciler
	o, err := client.Get[corev1.ConfigMap](ctx, r.mgr.Client(), req)
	switch {
	case apierrors.IsNotFound(err):
		view.Gone(req)
	case err != nil:
		return reconcile.Result{}, err
	default:
		view.Saw(o)
	}
	return reconcile.Result{}, nil
}

// newBook starts a new, empty book.
func (r *rig) newBook() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book = ledger.New()
	r.views = views{r.book.View("handler"), r.book.View("source"), r.book.View("reconciler")}
	if r.counted == nil {
		r.counted = map[string]*tally{"handler": {}, "source": {}}
	}
}

func (r *rig) view() views {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.views
}

func (r *rig) tally(name string) *tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counted[name]
}

func (r *rig) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}

func (r *rig) problem(p informer.Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, p)
}

// lists returns the number of lists since the sync, without streaming lists.
func (r *rig) lists() int { return r.asked.total()["list configmaps"] - r.listed }

// changed receives each state of a watch.
func (r *rig) changed(s reflector.State) {
	if s.Err != nil {
		r.mu.Lock()
		r.shown = append(r.shown, s.Err)
		r.mu.Unlock()
	}
	r.state.signal()
}

// reported returns the problems so far.
func (r *rig) reported() []informer.Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problems
}

// watch returns the state of the watch of the ConfigMaps.
func (r *rig) watch() reflector.State { return r.kind.Informer().State().Watch }

// await waits until is reports true for the state of the watch.
func (r *rig) await(what string, is func(reflector.State) bool) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), hung)
	defer cancel()
	if !r.state.await(ctx, func() bool { return is(r.watch()) }) {
		r.Fatalf("%s: not in time: %+v\nreported: %+v", what, r.watch(), r.reported())
	}
}

// changes wakes those who wait for a state.
type changes chan struct{}

func newChanges() changes { return make(changes, 1) }

func (c changes) signal() {
	select {
	case c <- struct{}{}:
	default:
	}
}

// await checks at every change, and every 20 ms: counters change without a signal. In a bubble these 20 ms are virtual.
func (c changes) await(ctx context.Context, is func() bool) bool {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-c:
		case <-look.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// running runs a manager until the test ends, or stop is called. stop returns the result of Run.
func running(t *testing.T, m *flyball.Manager) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- m.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-result
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("manager: %v", err)
		}
	})
	return stop
}

func dial(t *testing.T, cfg *rest.Config) *client.Live {
	t.Helper()
	c, err := client.New(cfg, client.Options{})
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

// await fails the test unless is returns true in time.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	if !newChanges().await(ctx, is) {
		t.Fatalf("%s: not in time", what)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
