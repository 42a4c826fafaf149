package flyball

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/internal/heap/heaptest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
)

// ran runs a manager. stop ends it, and returns the error of Run.
func ran(t *testing.T, m *Manager) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- m.Run(ctx) }()
	var err error
	stop = sync.OnceValue(func() error {
		cancel()
		err = <-result
		return err
	})
	t.Cleanup(func() { stop() })
	return stop
}

// calls is a reconciler that sends the value of each successful call of f.
func calls[T any](f func(ctx context.Context, req reconcile.Request) (T, error)) (reconcile.Reconciler[reconcile.Request], <-chan T) {
	ch := make(chan T, 10_000)
	return func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		v, err := f(ctx, req)
		if err == nil {
			ch <- v
		}
		return reconcile.Result{}, err
	}, ch
}

// until receives from ch until is reports true for a value.
func until[T any](t *testing.T, ch <-chan T, what string, is func(T) bool) {
	t.Helper()
	deadline := time.After(5 * time.Minute)
	var last T
	for {
		select {
		case last = <-ch:
			if is(last) {
				return
			}
		case <-deadline:
			t.Fatalf("%s: not seen, last was %v", what, last)
		}
	}
}

func byApp(_ context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
	return []reconcile.Request{{Namespace: p.Namespace, Name: p.Labels["app"]}}, nil
}

// A controller on watches: its reads from the cache show the change that caused the reconcile, and the server
// answers its reads of a kind that is not watched.
func TestManagerRunsAController(t *testing.T) {
	a := newAPI(t)
	a.put("deployments", testobj.Deployment("web/shop"))
	a.put("pods", testobj.Pod("web/p1", testobj.Labels("app=shop")))
	a.put("secrets", &corev1.Secret{ObjectMeta: testobj.Deployment("web/s").ObjectMeta})
	var live atomic.Int32
	var kind atomic.Value
	m := a.manager(t, Options{Name: "test", OnLiveRead: func(gvk schema.GroupVersionKind) {
		live.Add(1)
		kind.Store(gvk)
	}})
	r, counted := calls(func(ctx context.Context, req reconcile.Request) (int, error) {
		d, err := client.Get[appsv1.Deployment](ctx, m.Client(), req)
		if err != nil {
			return 0, err
		}
		if c := reconcile.CauseFrom(ctx); c.Kind.Kind == "Deployment" && c.ResourceVersion > d.ResourceVersion {
			t.Errorf("caused by version %s, reads %s", c.ResourceVersion, d.ResourceVersion)
		}
		n := 0
		for _, err := range client.List[corev1.Pod](ctx, m.Client(), client.InNamespace(req.Namespace), client.MatchingLabels{"app": req.Name}) {
			if err != nil {
				return 0, err
			}
			n++
		}
		if _, err := client.Get[corev1.Secret](ctx, m.Client(), reconcile.Request{Namespace: "web", Name: "s"}); err != nil {
			return 0, err
		}
		return n, nil
	})
	_, err := controller.New(m, "counter", r,
		controller.For[appsv1.Deployment](), controller.Watches[corev1.Pod](handler.Map(byApp)))
	if err != nil {
		t.Fatal(err)
	}
	stop := ran(t, m)
	until(t, counted, "1 pod", func(n int) bool { return n == 1 })
	for i := range 20 {
		a.put("pods", testobj.Pod("web/"+fmt.Sprint("more-", i), testobj.Labels("app=shop")))
	}
	until(t, counted, "21 pods", func(n int) bool { return n == 21 })
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if n := live.Load(); n == 0 || kind.Load().(schema.GroupVersionKind).Kind != "Secret" || a.count("GET /api/v1/secrets") != 0 || a.count("GET /api/v1/namespaces/web/secrets/s") != int(n) {
		t.Errorf("%d live reads of %v; the secrets were listed or watched %d times", n, kind.Load(), a.count("GET /api/v1/secrets"))
	}
	if n := a.count("GET /apis/apps/v1/namespaces/web/deployments/"); n != 0 {
		t.Errorf("%d reads of a Deployment went to the server", n)
	}
}

func TestManagerRunsAgain(t *testing.T) {
	a := newAPI(t)
	a.put("deployments", testobj.Deployment("web/shop"))
	m := a.manager(t, Options{})
	r, seen := calls(func(ctx context.Context, req reconcile.Request) (string, error) {
		d, err := client.Get[appsv1.Deployment](ctx, m.Client(), req)
		if err != nil {
			return "", err
		}
		return d.Name, nil
	})
	if _, err := controller.New(m, "c", r, controller.For[appsv1.Deployment]()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shop", "bar", "mill"} {
		a.put("deployments", testobj.Deployment("web/"+name))
		stop := ran(t, m)
		until(t, seen, name, func(s string) bool { return s == name })
		if err := m.Run(context.Background()); !errors.Is(err, run.ErrRunning) {
			t.Errorf("Run beside Run: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// lines receives the log, line by line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

// One kind is forbidden. Its controller names the verb and the resource within seconds, and waits. The other
// controller runs.
func TestForbiddenKindLeavesTheOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.put("deployments", testobj.Deployment("web/shop"))
		a.deny("secrets", true)
		text := make(lines, 1000)
		m := a.manager(t, Options{Logger: slog.New(slog.NewTextHandler(text, nil))})
		name := func(_ context.Context, req reconcile.Request) (string, error) { return req.Name, nil }
		good, seen := calls(name)
		bad, secrets := calls(name)
		if _, err := controller.New(m, "good", good, controller.For[appsv1.Deployment]()); err != nil {
			t.Fatal(err)
		}
		c, err := controller.New(m, "bad", bad, controller.For[corev1.Secret]())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		stop := ran(t, m)
		until(t, seen, "the Deployment", func(s string) bool { return s == "shop" })
		until(t, text, "the line of log", func(s string) bool { return strings.Contains(s, "source cannot sync") })
		if took := time.Since(began); took > 10*time.Second { // not after the two minutes of a sync
			t.Errorf("said after %v", took)
		}
		var forbidden *client.ForbiddenError
		if err := c.State().Err; !errors.As(err, &forbidden) || forbidden.Resource.Resource != "secrets" || !apierrors.IsForbidden(forbidden) {
			t.Errorf("state: %v", err)
		}
		for _, word := range []string{"For(Secret)", "list", "secrets"} {
			if err := c.State().Err; !strings.Contains(fmt.Sprint(err), word) {
				t.Errorf("%v does not name %q", err, word)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if len(secrets) != 0 {
			t.Error("the controller worked on what it could not see")
		}
	})
}

// A kind is opened in the cache that may not be listed. The server answers reads of single objects.
func TestLiveReadsOfAKindThatIsOpenInVain(t *testing.T) {
	for name, test := range map[string]struct {
		cache cache.Options
		list  bool // the server answers a list of all namespaces, too
	}{
		"all namespaces":  {cache.Options{}, true},
		"some namespaces": {cache.Options{Namespaces: []string{"web", "shop"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(t)
				a.put("secrets", &corev1.Secret{ObjectMeta: testobj.Deployment("web/s").ObjectMeta})
				a.deny("secrets", true)
				var live atomic.Int32
				m := a.manager(t, Options{Cache: test.cache, OnLiveRead: func(gvk schema.GroupVersionKind) {
					if gvk.Kind == "Secret" {
						live.Add(1)
					}
				}})
				h, err := m.Cache().Open(context.Background(), &corev1.Secret{}, client.Selection{})
				if err != nil {
					t.Fatal(err)
				}
				defer h.Close()
				ctx, read := context.Background(), make(chan error, 100)
				_, err = m.Add(Lead, "reader", func(ctx context.Context) error { // starts when the error of the kind is known
					_, err := client.Get[corev1.Secret](ctx, m.Client(), object.Key{Namespace: "web", Name: "s"})
					read <- err
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				ran(t, m)
				if err := <-read; err != nil || live.Load() != 1 {
					t.Errorf("Get: %v; %d live reads", err, live.Load())
				}
				_, err = client.ListPage[corev1.Secret](ctx, m.Client(), client.InNamespace("web"))
				if !apierrors.IsForbidden(err) || live.Load() != 2 {
					t.Errorf("List of a namespace: %v; %d live reads", err, live.Load())
				}
				if _, err = client.ListPage[corev1.Secret](ctx, m.Client()); (live.Load() == 3) != test.list || err == nil {
					t.Errorf("List of all: %v; %d live reads", err, live.Load())
				}
			})
		})
	}
}

func TestControllersComeAndGoWhileItRuns(t *testing.T) {
	a := newAPI(t)
	a.put("deployments", testobj.Deployment("web/shop"))
	m := a.manager(t, Options{})
	stop := ran(t, m)
	for range 3 {
		r, seen := calls(func(_ context.Context, req reconcile.Request) (string, error) { return req.Name, nil })
		c, err := controller.New(m, "c", r, controller.For[appsv1.Deployment]())
		if err != nil {
			t.Fatal(err)
		}
		until(t, seen, "shop", func(s string) bool { return s == "shop" })
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if n := len(m.Cache().Watches()); n != 0 {
			t.Errorf("%d watches stay open", n)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Two managers of one process are independent.
func TestTwoManagersAreIndependent(t *testing.T) {
	a, b := newAPI(t), newAPI(t)
	a.put("deployments", testobj.Deployment("web/in-a"))
	b.put("deployments", testobj.Deployment("web/in-b"))
	for server, want := range map[*api]string{a: "in-a", b: "in-b"} {
		m := server.manager(t, Options{})
		r, seen := calls(func(_ context.Context, req reconcile.Request) (string, error) { return req.Name, nil })
		if _, err := controller.New(m, "same", r, controller.For[appsv1.Deployment]()); err != nil {
			t.Fatal(err)
		}
		ran(t, m)
		until(t, seen, want, func(s string) bool {
			if s != want {
				t.Errorf("saw %q", s)
			}
			return s == want
		})
	}
}

func TestDuplicateNamesAreRefused(t *testing.T) {
	m := newAPI(t).manager(t, Options{})
	r, _ := calls(func(context.Context, reconcile.Request) (int, error) { return 0, nil })
	for _, want := range []bool{true, false} {
		_, err := controller.New(m, "c", r, controller.For[appsv1.Deployment]())
		var duplicate *DuplicateNameError
		if want != (err == nil) || !want && !errors.As(err, &duplicate) {
			t.Errorf("%v", err)
		}
	}
}

// Kinds that were opened before Run have synced when runners start, unless their error is known.
func TestRunnersStartOnAFilledCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.put("pods", testobj.Pod("web/p", testobj.Labels("app=shop")))
		a.deny("secrets", true)
		m := a.manager(t, Options{})
		for _, proto := range []object.Object{&corev1.Pod{}, &corev1.Secret{}} {
			h, err := m.Cache().Open(context.Background(), proto, client.Selection{})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
		}
		if _, err := client.Get[corev1.Pod](context.Background(), m.Client(), reconcile.Request{Namespace: "web", Name: "p"}); err == nil {
			t.Error("a cache that does not run answers")
		}
		result := make(chan error, 1)
		_, err := m.Add(Lead, "runner", func(ctx context.Context) error {
			_, err := client.Get[corev1.Pod](ctx, m.Client(), reconcile.Request{Namespace: "web", Name: "p"})
			result <- err
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := ran(t, m)
		select {
		case err := <-result:
			if err != nil {
				t.Errorf("reading when started: %v", err)
			}
		case <-time.After(5 * time.Minute):
			t.Error("the runner was not started")
		}
		stop()
	})
}

func TestIndexesAnswerFieldSelectors(t *testing.T) {
	a := newAPI(t)
	for i := range 10 {
		a.put("pods", testobj.Pod("web/"+fmt.Sprint("p", i), testobj.Labels("app="+[]string{"shop", "bar"}[i%2])))
	}
	a.put("deployments", testobj.Deployment("web/shop"))
	m := a.manager(t, Options{})
	byApp := func(p *corev1.Pod) []string { return []string{p.Labels["app"]} }
	if err := cache.IndexField(m.Cache(), "app", byApp); err != nil {
		t.Fatal(err)
	}
	if err := cache.IndexField(m.Cache(), "app", byApp); err == nil {
		t.Error("the same index twice")
	}
	r, found := calls(func(ctx context.Context, req reconcile.Request) (int, error) {
		n := 0
		for _, err := range client.List[corev1.Pod](ctx, m.Client(), client.MatchingFields{"app": req.Name}) {
			if err != nil {
				return 0, err
			}
			n++
		}
		return n, nil
	})
	if _, err := controller.New(m, "c", r, controller.For[appsv1.Deployment](), controller.Owns[corev1.Pod]()); err != nil {
		t.Fatal(err)
	}
	ran(t, m)
	until(t, found, "5 pods", func(n int) bool { return n == 5 })
}

func TestBadStartIsAnError(t *testing.T) {
	a := newAPI(t)
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := New(Options{}); !errors.Is(err, rest.ErrNotInCluster) {
		t.Errorf("no configuration: %v", err)
	}
	var bad *client.ConfigError
	if _, err := New(Options{Kubeconfig: "/nonexistent"}); !errors.As(err, &bad) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := New(Options{Config: a.config(), Name: "not a name"}); err == nil || !strings.Contains(err.Error(), "not a name") {
		t.Errorf("a bad name: %v", err)
	}
	a.mu.Lock()
	a.down = true
	a.mu.Unlock()
	began := false
	m := a.manager(t, Options{})
	m.Add(Lead, "runner", func(context.Context) error { began = true; return nil })
	if err := m.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "checking the server") || began {
		t.Errorf("a server that is down: %v, started %v", err, began)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Run(stopped); err != nil {
		t.Errorf("stopped before it began: %v", err)
	}
}

// starter runs a manager with a controller again and again. Every second run is stopped while it starts.
func starter(t *testing.T) (start func(i int)) {
	a := newAPI(t)
	a.put("deployments", testobj.Deployment("web/shop"))
	m := a.manager(t, Options{Cache: cache.Options{Limiter: reflector.NewLimiter(reflector.LimiterOptions{Rate: -1})}}) // no jitter
	r, seen := calls(func(_ context.Context, req reconcile.Request) (string, error) { return req.Name, nil })
	if _, err := controller.NewWith(m, "c", r, controller.Options{Workers: 2}, controller.For[appsv1.Deployment](), controller.Owns[corev1.Pod]()); err != nil {
		t.Fatal(err)
	}
	return func(i int) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		if i%2 == 0 {
			<-seen
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		a.mu.Lock()
		a.asked = nil
		a.mu.Unlock()
	}
}

// Starts and stops leave no goroutine behind: the bubble would not end.
func TestRunsLeakNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := starter(t)
		for i := range 20 {
			start(i)
		}
	})
}

// 1,000 starts and stops leave no goroutine and no memory behind.
func TestThousandRunsLeakNothing(t *testing.T) {
	tier.Audit(t, "measures the heap")
	cycle := starter(t)
	measure := func() (goroutines int, heap int64) {
		heap = heaptest.Live()
		return runtime.NumGoroutine(), heap
	}
	for i := range 20 {
		cycle(i)
	}
	goroutines, heap := measure()
	for i := range 1000 {
		cycle(i)
	}
	after, heapAfter := measure()
	if after > goroutines+10 {
		t.Errorf("%d goroutines, %d before", after, goroutines)
	}
	if heapAfter > heap+4<<20 {
		t.Errorf("%d bytes on the heap, %d before", heapAfter, heap)
	}
	t.Logf("goroutines %d → %d, heap %d → %d", goroutines, after, heap, heapAfter)
}

func TestExecutableIsAName(t *testing.T) {
	if name := executable(); name != "flyball.test" {
		t.Errorf("%q", name)
	}
	if !slices.Contains([]string{"serve", "sync", "lead"}, Lead.String()) || Phase(9).String() != "phase 9" {
		t.Error("phases have no names")
	}
}
