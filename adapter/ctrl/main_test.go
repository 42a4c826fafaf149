package ctrl_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flyball-io/flyball"
	flyctrl "github.com/flyball-io/flyball/adapter/ctrl"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() { // examples cannot skip
		fmt.Println("ctrl: left out by -short: its tests start an API server")
		return
	}
	ctrl.SetLogger(logr.Discard())
	leaktest.Main(servertest.Wrap(m),
		goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

var (
	discard   = slog.New(slog.DiscardHandler)
	noMetrics = metricsserver.Options{BindAddress: "0"}
	anyName   = crconfig.Controller{SkipNameValidation: new(true)}
)

// ctrlFunc is a reconciler of controller-runtime.
type ctrlFunc = reconcile.Func

// shared is the configuration of the control plane.
var shared *rest.Config

func config(t testing.TB) *rest.Config {
	t.Helper()
	if shared == nil {
		shared = servertest.Shared(t).RESTConfig()
	}
	return rest.CopyConfig(shared)
}

// exampleTB lets examples have the control plane of the tests.
type exampleTB struct{ testing.TB }

func (exampleTB) Helper()        {}
func (exampleTB) Cleanup(func()) {}
func (exampleTB) Fatal(a ...any) { panic(fmt.Sprint(a...)) }
func exampleConfig() *rest.Config {
	return config(exampleTB{})
}

// background runs something until stop is called.
func background(start func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- start(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			panic(err)
		}
	}
}

// publish creates a site in a new namespace, waits for its page, and returns it.
func publish(namespace, title string) string {
	mgr, err := flyball.New(flyball.Options{Name: "reader", Config: exampleConfig(), Logger: discard})
	if err != nil {
		panic(err)
	}
	c := flyctrl.NewClient(mgr)
	defer mgr.Live().Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // only a publication that hangs takes so long
	defer cancel()
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "blog", Labels: map[string]string{"kind": "site"}},
			Data:       map[string]string{"title": title},
		},
	} {
		if err := c.Create(ctx, o); err != nil {
			panic(err)
		}
	}
	w, err := c.Watch(ctx, &corev1.SecretList{}, client.InNamespace(namespace))
	if err != nil {
		panic(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if page, ok := e.Object.(*corev1.Secret); ok && page.Name == "blog-page" {
			return string(page.Data["html"])
		}
	}
	panic("the watch has ended")
}

// newManager returns a manager of Flyball.
func newManager(t testing.TB, change ...func(*flyball.Options)) *flyball.Manager {
	t.Helper()
	o := flyball.Options{Name: "tester", Config: config(t), Logger: discard}
	for _, f := range change {
		f(&o)
	}
	mgr, err := flyball.New(o)
	must(t, err)
	t.Cleanup(mgr.Live().Close)
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

func namespace(t testing.TB) string {
	t.Helper()
	config(t)
	return servertest.Namespace(t, servertest.Shared(t))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func configMap(namespace, name string, data ...string) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for i := 0; i+1 < len(data); i += 2 {
		if m.Data == nil {
			m.Data = map[string]string{}
		}
		m.Data[data[i]] = data[i+1]
	}
	return m
}
