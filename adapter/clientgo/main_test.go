package clientgo_test

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/clientgo"
	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { leaktest.Main(apiserver.Wrap(servertest.Wrap(m))) }

// config is the configuration of the control plane.
func config(t testing.TB) *rest.Config { return servertest.Shared(t).RESTConfig() }

// live returns a client of Flyball, to write with.
func live(t testing.TB) *client.Live {
	return livetest.Client(t, servertest.Shared(t), client.Options{})
}

// created creates a ConfigMap, and updated updates it. They return what the server has.
func created(t testing.TB, o *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	o, err := client.Create(bounded(t), live(t), o)
	must(t, err)
	return o
}

func updated(t testing.TB, o *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	o, err := client.Update(bounded(t), live(t), o)
	must(t, err)
	return o
}

// stock returns the clientset of client-go.
func stock(t testing.TB) *kubernetes.Clientset {
	cfg := config(t)
	cfg.QPS = -1
	c, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	return c
}

func newFactory(t testing.TB, options ...clientgo.Option) *clientgo.Factory {
	t.Helper()
	f, err := clientgo.NewSharedInformerFactory(config(t), 0, options...)
	must(t, err)
	return f
}

// starter is a factory.
type starter interface {
	Start(<-chan struct{})
	Shutdown()
}

// start starts a factory until the end of the test. It returns a context that only a test that hangs outlives.
func start(t testing.TB, f starter) context.Context {
	t.Helper()
	stop := make(chan struct{})
	f.Start(stop)
	t.Cleanup(func() {
		close(stop)
		f.Shutdown()
	})
	return bounded(t)
}

// synced waits for the first list.
func synced(t testing.TB, ctx context.Context, of ...toolscache.DoneChecker) {
	t.Helper()
	if !toolscache.WaitFor(ctx, "", of...) {
		t.Fatal("not synced")
	}
}

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

// story is what a handler was told.
type story struct {
	mu    sync.Mutex
	lines []string
	more  chan struct{}
}

func (s *story) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
}

func (s *story) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines
}

// await waits until the handler was told so.
func (s *story) await(t testing.TB, line string) {
	t.Helper()
	ctx := bounded(t)
	for {
		s.mu.Lock()
		found := false
		for _, l := range s.lines {
			found = found || l == line
		}
		if s.more == nil {
			s.more = make(chan struct{})
		}
		more := s.more
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			t.Fatalf("not told of %q: %q", line, s.all())
		}
	}
}
