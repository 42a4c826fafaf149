package ctrlcache_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	servertest.Main(m)
}

// shared is the configuration of the control plane.
var shared *rest.Config

func config(t testing.TB) *rest.Config {
	t.Helper()
	if shared == nil {
		shared = servertest.Shared(t).RESTConfig()
	}
	return rest.CopyConfig(shared)
}

// live returns a client without a cache.
func live(t testing.TB) crclient.Client {
	t.Helper()
	c, err := crclient.New(config(t), crclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newManager returns a manager over the packed cache.
func newManager(t testing.TB, change ...func(*ctrl.Options)) manager.Manager {
	t.Helper()
	o := ctrl.Options{NewCache: ctrlcache.New, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"}
	skip := true
	o.Controller.SkipNameValidation = &skip
	for _, f := range change {
		f(&o)
	}
	mgr, err := ctrl.NewManager(config(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// run runs something until the end of the test.
func run(t testing.TB, start func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// bounded returns a context that only a test that hangs outlives.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
