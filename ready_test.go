package flyball

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/readiness"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/reconcile"
)

// probed requests a page of the probes, without a port.
func probed(t *testing.T, m *Manager, path string) (int, string) {
	t.Helper()
	h, err := m.probes.handler()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// ready waits until m is ready to work: all phases have started.
func ready(t *testing.T, m *Manager, changed <-chan struct{}) {
	t.Helper()
	for m.life.Ready() != nil {
		select {
		case <-changed:
		case <-time.After(5 * time.Minute):
			t.Fatal("does not start")
		}
	}
}

// changes receives a value when something of the life of m has changed. It is called before m runs.
func changes(m *Manager) <-chan struct{} {
	ch, was := make(chan struct{}, 1), m.life.Changed
	m.life.Changed = func() {
		was()
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	return ch
}

// eventually waits until is reports true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(5 * time.Minute)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("%s: not in time", what)
		}
	}
}

// Faults 11 and 26 of docs/faults.md: readyz shows the failing kind and its cause, check by check. All other checks pass.
func TestReadyNamesTheFailingKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.put("deployments", testobj.Deployment("web/shop"))
		a.deny("secrets", true)
		m := a.manager(t, Options{})
		name := func(_ context.Context, req reconcile.Request) (string, error) { return req.Name, nil }
		good, seen := calls(name)
		bad, _ := calls(name)
		if _, err := controller.New(m, "good", good, controller.For[appsv1.Deployment]()); err != nil {
			t.Fatal(err)
		}
		c, err := controller.New(m, "bad", bad, controller.For[corev1.Secret]())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Ready().Add("orders", func(context.Context) error { return errors.New("no orders") }); err != nil {
			t.Fatal(err)
		}
		if err := m.Ready().Err(t.Context()); err == nil || !strings.Contains(err.Error(), "manager: does not run") {
			t.Errorf("before it runs: %v", err)
		}
		up(t, m)
		until(t, seen, "shop", func(s string) bool { return s == "shop" })
		ask := func(path string) (int, string) { return probed(t, m, path) }
		eventually(t, "the controller says why", func() bool { return c.State().Err != nil })
		eventually(t, "the manager has started", func() bool { code, _ := ask("/readyz/manager"); return code == http.StatusOK })
		code, text := ask("/readyz")
		for _, line := range []string{
			"[+]manager ok", "[+]cache:deployments.apps ok", "[+]controller:good ok", "[-]orders failed: no orders",
			"[-]cache:secrets failed: forbidden: ", "[-]controller:bad failed: controller \"bad\": not synced: For(Secret)", `list resource "secrets"`,
		} {
			if code != http.StatusServiceUnavailable || !strings.Contains(text, line) {
				t.Errorf("%d, without %q:\n%s", code, line, text)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if _, text := ask("/readyz?verbose"); strings.Contains(text, "secrets") || strings.Contains(text, "bad") {
			t.Errorf("checks of what was closed stay:\n%s", text)
		}
		if code, text := ask("/readyz?exclude=orders"); code != http.StatusOK {
			t.Errorf("%d:\n%s", code, text)
		}
		if code, _ := ask("/livez"); code != http.StatusOK {
			t.Error("not live")
		}

		// readyz shows that the watch is stale. Reads are answered.
		a.mu.Lock()
		a.down = true
		a.mu.Unlock()
		a.CloseClientConnections()
		eventually(t, "the kind is stale", func() bool {
			code, text := ask("/readyz/cache:deployments.apps")
			return code == http.StatusServiceUnavailable && strings.Contains(text, "stale")
		})
		if code, _ := ask("/livez"); code != http.StatusOK {
			t.Error("a server that is away ends the process")
		}
	})
}

// The manager is not ready while it stops and waits for running reconciles.
func TestNotReadyWhileItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.put("pods", testobj.Pod("web/p", testobj.Labels("app=shop")))
		m := a.manager(t, Options{})
		working, let := make(chan struct{}), make(chan struct{})
		r := func(context.Context, reconcile.Request) (reconcile.Result, error) {
			close(working)
			<-let
			return reconcile.Result{}, nil
		}
		if _, err := controller.New(m, "slow", r, controller.For[corev1.Pod]()); err != nil {
			t.Fatal(err)
		}
		stop := up(t, m)
		<-working
		if m.GracePeriod() != defaultGrace {
			t.Errorf("grace %v", m.GracePeriod())
		}
		result := make(chan error, 1)
		go func() { result <- stop() }()
		eventually(t, "not ready", func() bool {
			_, text := probed(t, m, "/readyz/manager")
			return strings.Contains(text, "stops")
		})
		time.Sleep(time.Second)
		if left := m.GracePeriod(); left > defaultGrace-time.Second || left <= 0 {
			t.Errorf("grace that is left: %v", left)
		}
		close(let)
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

// The check of a watch that was closed meanwhile passes.
func TestChecksOfClosedWatchesPass(t *testing.T) {
	m := newAPI(t).manager(t, Options{})
	h, err := m.Cache().Open(t.Context(), &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}, client.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	ready := m.Ready()
	if err := ready.Err(t.Context()); !errors.Is(err, readiness.ErrNotSynced) || !strings.Contains(err.Error(), "cache:pods") {
		t.Errorf("before it runs: %v", err)
	}
	h.Close()
	if err := ready.Err(t.Context()); err == nil || strings.Contains(err.Error(), "cache:pods") {
		t.Errorf("closed: %v", err)
	}
}

// A standby keeps the kinds of the leader's controllers in its cache until the controllers are closed. This server
// has no leases: the manager stays a standby, and readyz shows the lease.
func TestStandbyKeepsTheKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.put("deployments", testobj.Deployment("web/shop"))
		m := a.manager(t, Options{Leader: &leader.Options{Namespace: "web", Name: "shop"}})
		r, seen := calls(func(_ context.Context, req reconcile.Request) (string, error) { return req.Name, nil })
		c, err := controller.New(m, "c", r, controller.For[appsv1.Deployment](), controller.Owns[corev1.Pod]())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			stop := up(t, m)
			eventually(t, "both kinds are there", func() bool {
				watches := m.Cache().Watches()
				return len(watches) == 2 && watches[0].State.Synced && watches[1].State.Synced
			})
			if d, err := client.Get[appsv1.Deployment](t.Context(), m.Cache(), object.Key{Namespace: "web", Name: "shop"}); err != nil || d.Name != "shop" {
				t.Errorf("reading from the cache: %v", err)
			}
			eventually(t, "readyz tells of the lease", func() bool {
				err := m.Ready().Err(t.Context())
				return err != nil && strings.Contains(err.Error(), "lease: ")
			})
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		stop := up(t, m)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		eventually(t, "the kinds are given back", func() bool { return len(m.Cache().Watches()) == 0 })
		if err := stop(); err != nil || len(seen) != 0 {
			t.Errorf("%v; a standby reconciled", err)
		}
	})
}

// The check of a working controller whose source fails, fails. In a program that serves webhooks it is excused, and
// the verbose answer says so.
func TestFailingSourcesFailReadiness(t *testing.T) {
	for _, webhooks := range []bool{false, true} {
		o := Options{Probes: Endpoint{Addr: "127.0.0.1:0"}}
		if webhooks {
			o.Webhooks = Webhooks{Addr: "127.0.0.1:0", CertDir: pair(t)}
		}
		m := newAPI(t).manager(t, o)
		defer m.checked(failingController{})()
		changed := changes(m)
		up(t, m)
		ready(t, m, changed)
		code, text := get(t, "http://"+m.Addrs().Probes.String()+"/readyz?verbose")
		line, want := `[-]controller:orders failed: controller "orders": fails: Watches(Pod) since`, http.StatusServiceUnavailable
		if webhooks {
			line, want = `[+]controller:orders excused: the webhooks of this program work without it: controller "orders": fails: Watches(Pod) since`, http.StatusOK
		}
		if code != want || !strings.Contains(text, line) || !strings.Contains(text, ", on 2 objects: no index") {
			t.Errorf("webhooks %v: %d\n%s", webhooks, code, text)
		}
	}
}

// failingController has a name and a state, which is all that readiness uses.
type failingController struct{ controller.Interface }

func (failingController) Name() string                                     { return "orders" }
func (failingController) OptionalKinds(controller.Manager) []object.Object { return nil }
func (failingController) State() controller.State {
	return controller.State{Phase: controller.Working, Err: &controller.FailingError{Controller: "orders", Sources: []controller.SourceFailure{
		{Source: "Watches(Pod)", Objects: 2, Since: time.Now().Add(-time.Hour), Err: errors.New("no index")},
	}}}
}
