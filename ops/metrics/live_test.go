package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/metrics"
	"github.com/flyball-io/flyball/ops/serve"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/servertest"
)

// small has the parts of a manager that one controller needs.
type small struct {
	*client.Live
	cache  *cache.Cache
	hooks  func(string, int) controller.Hooks
	runner controller.Interface
}

func (s *small) Logger() *slog.Logger                                { return slog.New(slog.DiscardHandler) }
func (s *small) GracePeriod() time.Duration                          { return time.Minute }
func (s *small) ResyncPeriod() time.Duration                         { return 0 }
func (s *small) ControllerHooks(name string, n int) controller.Hooks { return s.hooks(name, n) }
func (s *small) Scheme() *runtime.Scheme                             { return s.Live.Scheme() }
func (s *small) Mapper() meta.RESTMapper                             { return s.Live.Mapper() }

func (s *small) AddController(c controller.Interface) (io.Closer, error) {
	s.runner = c
	return nil, nil
}

func (s *small) Subscribe(ctx context.Context, proto object.Object, name string, fn func(store.Change)) (controller.Subscription, error) {
	h, err := s.cache.Open(ctx, proto, client.Selection{})
	if err != nil {
		return nil, err
	}
	return h.Subscribe(name, fn)
}

// A controller runs on a real control plane, and its metrics are read over HTTP.
func TestMetricsOfAControllerOnAControlPlane(t *testing.T) {
	p := servertest.Shared(t)
	ns := servertest.Namespace(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	m := metrics.New(metrics.Options{Logger: slog.New(slog.DiscardHandler)})
	c := livetest.Client(t, p, client.Options{Hook: m.ClientHook("plane")})
	held, err := cache.New(cache.Connect(c), cache.Options{Namespaces: []string{ns}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m.AddCache(held.Watches)

	const objects = 20
	var failed, seen atomic.Int32
	all := make(chan struct{})
	r := func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
		if !strings.HasPrefix(req.Name, "mine-") {
			return reconcile.Result{}, nil
		}
		if req.Name == "mine-0" && failed.Add(1) == 1 {
			return reconcile.Result{}, errors.New("the first time")
		}
		if seen.Add(1) == objects {
			close(all)
		}
		return reconcile.Result{}, nil
	}
	mgr := &small{Live: c, cache: held, hooks: m.Controller}
	for i := range objects {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("mine-", i)}}
		if _, err := client.Create(ctx, c, cm); err != nil {
			t.Fatal(err)
		}
	}
	ctl, err := controller.NewWith(mgr, "configmap", r, controller.Options{Workers: 3}, controller.For[corev1.ConfigMap]())
	if err != nil {
		t.Fatal(err)
	}
	remove, err := m.AddController(ctl)
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Name: "metrics", Handler: m.Handler(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.AddServer(s.Name(), s.Stats); err != nil {
		t.Fatal(err)
	}
	group, work := run.New(ctx)
	group.Go("cache", held.Run)
	group.Go("controller", mgr.runner.Run)
	group.Go("server", s.Run)
	defer func() {
		group.Stop(nil)
		_ = group.Wait()
	}()
	select {
	case <-all:
	case <-work.Done():
		t.Fatal(context.Cause(work))
	}
	<-s.Listening()

	resp, err := http.Get("http://" + s.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp.StatusCode, err)
	}
	for _, want := range []string{
		`controller_runtime_reconcile_total{controller="configmap",result="error"} 1`,
		`controller_runtime_reconcile_errors_total{controller="configmap"} 1`,
		`controller_runtime_max_concurrent_reconciles{controller="configmap"} 3`,
		`flyball_controller_working{controller="configmap"} 1`,
		`workqueue_retries_total{controller="configmap",name="configmap"} 1`,
		`flyball_cache_synced{kind="ConfigMap"} 1`,
		`flyball_watch_healthy{kind="ConfigMap"} 1`,
		`flyball_watch_lag_seconds{kind="ConfigMap"} `,
		`flyball_cache_rejected_objects{kind="ConfigMap"} 0`,
		`rest_client_requests_total{code="201",host="plane",method="POST"} 20`,
		`rest_client_requests_total{code="200",host="plane",method="GET"} `,
		`flyball_server_requests_total{server="metrics"} 1`,
		"go_goroutines ", "process_start_time_seconds ",
	} {
		if !strings.Contains(string(body), "\n"+want) {
			t.Errorf("%s is not in what is served", want)
		}
	}
	got := figures(t, m.Gatherer())
	if n := got[`flyball_cache_objects{kind="ConfigMap"}`]; n < objects {
		t.Errorf("%v objects", n)
	}
	if n := got[`controller_runtime_reconcile_total{controller="configmap",result="success"}`]; n < objects-1 {
		t.Errorf("%v reconciles", n)
	}
	if strings.Contains(string(body), "mine-") || strings.Contains(string(body), ns) {
		t.Error("names of objects or namespaces are in the labels")
	}
	remove()
	for name := range figures(t, m.Gatherer()) {
		if strings.Contains(name, `controller="configmap"`) {
			t.Errorf("%s stays", name)
		}
	}
}
