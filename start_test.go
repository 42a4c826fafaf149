package flyball

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
var together = map[string]string{"/api": "/apis", "/apis": "/api"}

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
// what does not depend on another answer: the version, the groups, the resources of the kind's group, the objects. A server with
// aggregated discovery saves the third step.
func TestStepsToTheFirstReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.put("pods", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a"}})
		s := newSteps(a)
		m, err := New(Options{Config: serveInMemory(t, s).config(), Logger: slog.New(slog.DiscardHandler)})
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
		want := [][]string{{"/version"}, {"/api", "/apis"}, {"/api/v1"}, {"/api/v1/pods"}}
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
	})
}

// A program that starts, works and stops logs no warning, however early its readiness is asked for. The first line
// says what program works on which cluster, the last one how long the stop took.
func TestLifeInGoodOrderHasNoWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.put("pods", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a"}})
		text := make(lines, 1000)
		m := a.manager(t, Options{Name: "shop", Logger: slog.New(slog.NewJSONHandler(text, nil))})
		m.o.Cache.Namespaces = []string{"web"}
		reconciler, seen := calls(func(_ context.Context, req reconcile.Request) (string, error) { return req.Name, nil })
		if _, err := controller.New(m, "pods", reconciler, controller.For[corev1.Pod]()); err != nil {
			t.Fatal(err)
		}
		if m.Ready().Err(t.Context()) == nil {
			t.Error("ready before the start")
		}
		stop := ran(t, m)
		until(t, seen, "the Pod", func(s string) bool { return s == "a" })
		eventually(t, "ready", func() bool { return m.Ready().Err(t.Context()) == nil })
		if err := stop(); err != nil {
			t.Error(err)
		}
		close(text)
		var all []map[string]any
		for line := range text {
			var l map[string]any
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if l["level"] != "INFO" {
				t.Error(line)
			}
			if !strings.Contains(l["msg"].(string), "check") {
				all = append(all, l)
			}
		}
		first, last := all[0], all[len(all)-1]
		if first["msg"] != "manager starts" || first["program"] != "shop" || "http://"+first["cluster"].(string) != a.URL || first["go"] == "" || first["namespaces"] == nil {
			t.Errorf("the first line: %v", first)
		}
		if _, took := last["took"].(float64); last["msg"] != "manager has stopped" || !took {
			t.Errorf("the last line: %v", last)
		}
	})
}
