package flyball

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
)

// steps passes requests on, and counts how many of them waited for the answer of another one, and that for
// another one.
type steps struct {
	next http.Handler

	mu      sync.Mutex
	taken   map[string]int // by path: the step in which it was asked
	done    int            // the last step of an answer
	waiting map[string]chan struct{}
}

// together are requests that need not wait for each other. Each is answered when the other one has arrived.
var together = map[string]string{"/api": "/apis", "/apis": "/api", "/api/v1": "/apis/apps/v1", "/apis/apps/v1": "/api/v1"}

func newSteps(next http.Handler) *steps {
	s := &steps{next: next, taken: map[string]int{}, waiting: map[string]chan struct{}{}}
	for path := range together {
		s.waiting[path] = make(chan struct{})
	}
	return s
}

func (s *steps) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	s.mu.Lock()
	if s.taken[path] != 0 {
		s.mu.Unlock()
		status(w, http.StatusInternalServerError, path+" was asked before", "")
		return
	}
	step := s.done + 1
	s.taken[path] = step
	if arrived := s.waiting[path]; arrived != nil {
		close(arrived)
	}
	other := s.waiting[together[path]]
	s.mu.Unlock()
	if other != nil {
		select {
		case <-other:
		case <-time.After(time.Minute): // it waits for this answer: the test will say so
		}
	}
	s.mu.Lock()
	s.done = max(s.done, step)
	s.mu.Unlock()
	s.next.ServeHTTP(w, r)
}

// A program asks for nothing that it does not need before its first reconcile, and asks at the same time for
// what does not depend on another answer: the version, the groups, their resources, the objects. A server with
// aggregated discovery saves the third step.
func TestStepsToTheFirstReconcile(t *testing.T) {
	a := newAPI(t)
	a.put("pods", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a"}})
	s := newSteps(a)
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	m, err := New(Options{Config: &rest.Config{Host: server.URL}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan struct{})
	reconciled := sync.OnceFunc(func() { close(first) })
	_, err = controller.New(m, "pods", func(context.Context, reconcile.Request) (reconcile.Result, error) {
		reconciled()
		return reconcile.Result{}, nil
	}, controller.For[corev1.Pod]())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	select {
	case <-first:
	case err := <-ended:
		t.Fatalf("Run ended: %v", err)
	case <-time.After(5 * time.Minute):
		t.Error("no reconcile within five minutes")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := [][]string{{"/version"}, {"/api", "/apis"}, {"/api/v1", "/apis/apps/v1"}, {"/api/v1/pods"}}
	s.mu.Lock()
	defer s.mu.Unlock()
	got := make([][]string, len(want))
	for path, step := range s.taken {
		if step > len(want) {
			t.Fatalf("%s waits for %d other requests, one after another: %v", path, step-1, s.taken)
		}
		got[step-1] = append(got[step-1], path)
	}
	for i := range got {
		slices.Sort(got[i])
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("step %d: asked for %v, want %v", i+1, got[i], want[i])
		}
	}
}
