package flyball

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/servertest"
)

// twoClusters is a manager on one control plane with a further cluster on another. Its controller copies the
// ConfigMaps of the further cluster into its own.
func twoClusters(t *testing.T, ns, identity string, east *servertest.Server) (mgr, other *Manager, seen <-chan string) {
	t.Helper()
	p := servertest.Shared(t)
	m, err := New(Options{
		Name: "mirror", Config: p.RESTConfig(), Cache: cache.Options{Namespaces: []string{ns}},
		Leader:  patient(ns, identity),
		Metrics: Endpoint{Addr: "127.0.0.1:0"}, Debug: true,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)).With("replica", identity),
	})
	if err != nil {
		t.Fatal(err)
	}
	other, err = m.Cluster("east", Options{Config: east.RESTConfig(), Cache: cache.Options{Namespaces: []string{"default"}}})
	if err != nil {
		t.Fatal(err)
	}
	r, seen := calls(func(ctx context.Context, req reconcile.Request) (string, error) {
		if req.Namespace != "default" {
			return req.Name, nil
		}
		from, err := client.Get[corev1.ConfigMap](ctx, other.Client(), req)
		if err != nil {
			return "", client.IgnoreNotFound(err)
		}
		_, err = client.Apply(ctx, m.Client(), testobj.ConfigMap(ns+"/"+from.Name, testobj.Data("from", "east")), "mirror")
		return "east/" + req.Name, err
	})
	if _, err := controller.New(m, "mirror", r, controller.For[corev1.ConfigMap](),
		controller.Watches[corev1.ConfigMap](handler.Self()).From(other)); err != nil {
		t.Fatal(err)
	}
	return m, other, seen
}

// Two control planes, and two replicas of a program that works on both. What changes in the further cluster is
// reconciled by the leader of the program's own. The standby holds the kinds of both clusters, and may write to
// neither.
func TestControllerOfTwoClusters(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	other := servertest.Private(t)
	first, east, seen := twoClusters(t, ns, "first", other)
	stop := ran(t, first)
	until(t, seen, "a ConfigMap of the own cluster", func(s string) bool { return s == "kube-root-ca.crt" })
	if _, err := client.Create(t.Context(), east.Client(), testobj.ConfigMap("default/prices")); err != nil {
		t.Fatal(err)
	}
	until(t, seen, "a ConfigMap of the other cluster", func(s string) bool { return s == "east/prices" })
	until(t, seen, "its copy", func(s string) bool { return s == "prices" })
	if o, err := client.Get[corev1.ConfigMap](t.Context(), first.Live(), object.Key{Namespace: ns, Name: "prices"}); err != nil || o.Data["from"] != "east" {
		t.Errorf("the copy is %v, %v", o, err)
	}

	next, eastOfNext, nextSeen := twoClusters(t, ns, "second", other)
	ran(t, next)
	eventually(t, "the standby holds both clusters", func() bool {
		_, err := client.Get[corev1.ConfigMap](t.Context(), eastOfNext.Cache(), object.Key{Namespace: "default", Name: "prices"})
		return err == nil && next.Ready().Err(t.Context()) == nil
	})
	_, err := client.Create(t.Context(), eastOfNext.Client(), testobj.ConfigMap("default/from-the-standby"))
	if _, fenced := errors.AsType[*client.FencedError](err); !fenced {
		t.Errorf("the standby writes to the other cluster: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	until(t, nextSeen, "by the next leader", func(s string) bool { return s == "east/prices" })

	_, text := get(t, "http://"+next.Addrs().Metrics.String()+"/metrics")
	for _, want := range []string{
		`flyball_cache_synced{kind="ConfigMap"} 1`, `flyball_cache_synced{cluster="east",kind="ConfigMap"} 1`,
		`rest_client_requests_total{cluster="east",code="200",`, `controller_runtime_active_workers{controller="mirror"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no metric %s in\n%s", want, text)
		}
	}
	if _, text := get(t, "http://"+next.Addrs().Metrics.String()+"/debug/caches"); !strings.Contains(text, "\neast:configmaps:default ") {
		t.Errorf("no watch of the other cluster in\n%s", text)
	}
}

// A cluster that does not answer stops nothing. Its kind fails a check, which is excused in a program that serves
// webhooks; the other controllers work.
func TestUnreachableClusterIsNamed(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { unreachable(t, Options{}) })
	})
	t.Run("with webhooks", func(t *testing.T) {
		t.Parallel()
		unreachable(t, Options{Webhooks: Webhooks{Addr: "127.0.0.1:0", CertDir: pair(t)}})
	})
}

func unreachable(t *testing.T, o Options) {
	a := newAPI(t)
	a.put("pods", testobj.Pod("web/p"))
	log := make(lines, 1000)
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	m := a.manager(t, o)
	b := newAPI(t)
	b.deny("pods", true)
	east, err := m.Cluster("east", Options{
		Config: b.config(),
		Cache:  cache.Options{Configure: func(o *informer.Options) { o.Reflector.Absent = time.Second }}, // it is asked again soon
	})
	if err != nil {
		t.Fatal(err)
	}
	r, seen := calls(func(_ context.Context, req reconcile.Request) (string, error) { return req.Name, nil })
	if _, err := controller.New(m, "pods", r, controller.For[corev1.Pod]()); err != nil {
		t.Fatal(err)
	}
	waiting, err := controller.New(east, "theirs", r, controller.For[corev1.Pod]())
	if err != nil {
		t.Fatal(err)
	}
	changed := changes(m)
	up(t, m)
	ready(t, m, changed)
	until(t, seen, "the pod of the own cluster", func(s string) bool { return s == "p" })
	until(t, log, "the controller says which cluster", func(s string) bool {
		return strings.Contains(s, "source cannot sync") && strings.Contains(s, "theirs")
	})
	if err := waiting.State().Err; err == nil || !strings.Contains(err.Error(), "cluster east: ") {
		t.Errorf("the controller does not say which cluster: %v", err)
	}
	want, code := []string{"[-]cache:east:pods failed: ", "[-]controller:theirs failed: "}, http.StatusServiceUnavailable
	if o.Webhooks.Addr != "" {
		const why = " excused: the webhooks of this program work without it: "
		want, code = []string{"[+]cache:east:pods" + why, "[+]controller:theirs" + why}, http.StatusOK
	}
	got, text := probed(t, m, "/readyz?verbose")
	for _, line := range append(want, "[+]cache:pods ok") {
		if got != code || !strings.Contains(text, line) {
			t.Errorf("%d, without %q:\n%s", got, line, text)
		}
	}
	if err := east.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "cluster east") {
		t.Errorf("Run of the further cluster: %v", err)
	}
	b.deny("pods", false)
	b.put("pods", testobj.Pod("web/of-the-east"))
	until(t, seen, "the pod of the other cluster", func(s string) bool { return s == "of-the-east" })
}

func TestClusterNamesTheBadOption(t *testing.T) {
	a := newAPI(t)
	m := a.manager(t, Options{})
	own := Options{Config: a.config()}
	for field, o := range map[string]Options{
		"Leader": {Leader: &leader.Options{}}, "Metrics": {Metrics: Endpoint{Addr: ":1"}}, "GracePeriod": {GracePeriod: 1},
		"Namespaces": {Config: own.Config, Cache: cache.Options{Namespaces: []string{"a b"}}},
	} {
		if _, err := m.Cluster("east", o); !isOption(err, field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, name := range []string{"", "e:st", "the east"} {
		if _, err := m.Cluster(name, own); !isOption(err, "name") {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	if _, err := m.Cluster("west", own); err != nil {
		t.Fatal(err)
	}
	_, err := m.Cluster("west", own)
	if _, taken := errors.AsType[*DuplicateNameError](err); !taken {
		t.Errorf("a name twice: %v", err)
	}
	if len(m.allClusters()) != 2 {
		t.Errorf("%d clusters, want the own and that of the west", len(m.allClusters()))
	}
	east, err := m.Cluster("east", own) // what failed before has left nothing behind
	if err != nil {
		t.Fatal(err)
	}
	if err := east.HandlePage("/shared", http.NotFoundHandler()); err != nil {
		t.Error(err)
	}
	if err := m.HandlePage("/shared", http.NotFoundHandler()); !isOption(err, `path "/shared"`) {
		t.Errorf("the pages are not those of the program: %v", err)
	}
	for _, c := range []*Manager{m, east} {
		if all, err := c.Gatherer().Gather(); err != nil || len(all) == 0 {
			t.Errorf("%d metrics, %v", len(all), err)
		}
	}
}

// pages of the program are served beside the metrics, behind the same authorization.
func TestPagesBesideTheMetrics(t *testing.T) {
	m := newAPI(t).manager(t, Options{Metrics: Endpoint{Addr: "127.0.0.1:0"}, Debug: true})
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello "+r.URL.Path) })
	for _, path := range []string{"/hello", "/orders/", "/debug/orders"} {
		if err := m.HandlePage(path, hello); err != nil {
			t.Fatal(err)
		}
	}
	up(t, m)
	if err := m.HandlePage("/late", hello); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/hello": "hello /hello", "/late": "hello /late", "/orders/1": "hello /orders/1", "/debug/orders": "hello /debug/orders",
		"/metrics": "flyball_", "/debug/caches": "WATCH",
	} {
		if code, text := get(t, "http://"+m.Addrs().Metrics.String()+path); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	for path, h := range map[string]http.Handler{"/metrics": hello, "/hello": hello, "/debug/": hello, "/": hello, "/a//b": hello, "/{x}": hello, "/nil": nil} {
		if err := m.HandlePage(path, h); !isOption(err, `path "`+path+`"`) {
			t.Errorf("%s: %v", path, err)
		}
	}
	m = newAPI(t).manager(t, Options{})
	if err := m.HandlePage("/metrics", hello); err == nil {
		t.Error("/metrics is free while it is not served")
	}
	if err := m.HandlePage("/debug/", hello); err != nil {
		t.Errorf("/debug/ is taken without Debug: %v", err)
	}
}
