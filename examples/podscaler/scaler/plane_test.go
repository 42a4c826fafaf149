package scaler

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/examples/internal/sampletest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/test/servertest"

	"github.com/flyball-io/flyball/internal/livetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(servertest.Wrap(m)) }

const bound = sampletest.Bound

// long returns n, or twenty times as many if FLYBALL_LONG is set.
func long(n int) int {
	if os.Getenv("FLYBALL_LONG") != "" {
		return 20 * n
	}
	return n
}

// stage is a namespace in which podscaler runs.
type stage struct {
	*testing.T
	c      *client.Live // the test's own
	ns     string
	mgr    *flyball.Manager
	writes *writes
	done   chan controller.Reconciled
}

// writes is what podscaler wrote.
type writes struct {
	mu       sync.Mutex
	answered sync.Cond // signalled with each write that has been counted
	sent     int
	seen     []string
}

// wrap counts a write when it leaves: what it does may show before it is answered.
func (w *writes) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			w.mu.Lock()
			w.sent++
			w.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *writes) hook(d client.Done) {
	if slices.Contains([]string{"get", "list", "watch"}, d.Verb) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, d.Call.String())
	w.answered.Broadcast()
}

func newWrites() *writes {
	w := &writes{}
	w.answered.L = &w.mu
	return w
}

// settled waits until all that was sent has been answered, and says how much that was.
func (w *writes) settled() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.seen) < w.sent {
		w.answered.Wait()
	}
	return len(w.seen)
}

func (w *writes) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// start runs podscaler in a namespace of its own until the test ends.
func start(t *testing.T, interval time.Duration) *stage {
	t.Helper()
	p := servertest.Shared(t)
	s := &stage{T: t, ns: servertest.Namespace(t, p), writes: newWrites(), done: make(chan controller.Reconciled, 1<<16)}
	s.c = livetest.Client(t, p, client.Options{})
	cfg := p.RESTConfig()
	cfg.Wrap(s.writes.wrap)
	o := flyball.Options{
		Name: "podscaler", Config: cfg,
		Client: client.Options{Hook: s.writes.hook},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	o.Cache.Namespaces = []string{s.ns}
	var err error
	if s.mgr, err = flyball.New(o); err != nil {
		t.Fatal(err)
	}
	hooks := controller.Hooks{Reconciled: func(r controller.Reconciled) {
		select {
		case s.done <- r:
		default:
		}
	}}
	if err := Add(s.mgr, interval, controller.Options{Hooks: hooks}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.mgr.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("podscaler: %v", err)
		}
	})
	return s
}

// scaled makes a Deployment whose own Pods carry app=myapp.
func (s *stage) scaled(name string, annotations map[string]string) *appsv1.Deployment {
	s.Helper()
	return s.deploy(name, "myapp", annotations)
}

// deploy makes a Deployment whose own Pods carry the label app.
func (s *stage) deploy(name, app string, annotations map[string]string) *appsv1.Deployment {
	s.Helper()
	d, err := client.Create(s.Context(), s.c, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name, Annotations: annotations},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"of": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"of": name, "app": app}},
				Spec:       podSpec(),
			},
		},
	})
	if err != nil {
		s.Fatal(err)
	}
	return d
}

func (s *stage) annotate(name string, annotations map[string]any) {
	s.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name}}
	patch := client.MergePatch(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if _, err := client.Patch(s.Context(), s.c, d, patch); err != nil {
		s.Fatal(err)
	}
}

func podSpec() corev1.PodSpec {
	now := int64(0)
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: &now,
		Containers:                    []corev1.Container{{Name: "pause", Image: "pause"}},
	}
}

// pods makes n Pods with a label.
func (s *stage) pods(n int, key, value string) []*corev1.Pod {
	s.Helper()
	made := make([]*corev1.Pod, n)
	s.each(n, func(i int) (err error) {
		made[i], err = client.Create(s.Context(), s.c, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, GenerateName: value + "-", Labels: map[string]string{key: value}},
			Spec:       podSpec(),
		})
		return err
	})
	return made
}

func (s *stage) remove(pods []*corev1.Pod) {
	s.Helper()
	s.each(len(pods), func(i int) error { return client.Delete(s.Context(), s.c, pods[i]) })
}

// each calls f for 0 to n-1, eight at a time.
func (s *stage) each(n int, f func(i int) error) {
	s.Helper()
	g, _ := run.New(s.Context())
	var next atomic.Int64
	for range 8 {
		g.Go("", func(context.Context) error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		s.Fatal(err)
	}
}

// replicas returns when a Deployment is to have so many replicas.
func (s *stage) replicas(name string, want int32, within time.Duration) {
	s.Helper()
	var last int32
	if !sampletest.Eventually(s, s.c, within, s.ns, name, func(d *appsv1.Deployment) bool {
		last = *d.Spec.Replicas
		return last == want
	}) {
		s.Fatalf("%s: %d replicas, want %d; writes %q", name, last, want, s.writes.list())
	}
}

// caughtUp returns when podscaler has looked at a Deployment after the last change of a Pod. The Deployment
// is limited to one replica for that, and then not limited any more.
func (s *stage) caughtUp(name string) {
	s.Helper()
	// The cache shows the Pods in the order of their changes, so it has shown all when it shows two more.
	s.scaled("last", map[string]string{Selector: "team=last", PodsPerReplica: "1"}) // one replica at first
	s.pods(2, "team", "last")
	s.replicas("last", 2, bound)
	// Who has seen the limit began to count after that.
	s.annotate(name, map[string]any{MaxReplicas: "1"})
	s.replicas(name, 1, bound)
	s.annotate(name, map[string]any{MaxReplicas: nil})
}

// rest fails the test if podscaler writes anything, while rounds of full re-checks pass and then a Deployment that is new
// is scaled. It returns what podscaler has looked at in the rounds.
func (s *stage) rest(name string, rounds int) (seen []object.Key) {
	s.Helper()
	before := s.writes.settled()
	for len(s.done) > 0 {
		seen = append(seen, (<-s.done).Request.(object.Key))
	}
	for rounds > 0 {
		key := (<-s.done).Request.(object.Key)
		if seen = append(seen, key); key.Name == name {
			rounds--
		}
	}
	// What podscaler does about another Deployment comes after what it would have done by then.
	fresh := fmt.Sprint("fresh-", before)
	s.deploy(fresh, fresh, map[string]string{Selector: "team=" + fresh, PodsPerReplica: "1"}) // one replica at first
	s.pods(2, "team", fresh)
	s.replicas(fresh, 2, bound)
	s.writes.settled()
	after := slices.DeleteFunc(s.writes.list()[before:], func(w string) bool { return strings.HasSuffix(w, "/"+fresh) })
	if len(after) > 0 {
		s.Errorf("writes at rest: %q", after)
	}
	return seen
}

// counted is how many Pods with app=myapp the server has that live and are not of the Deployment.
func (s *stage) counted(except string) (n int) {
	s.Helper()
	for p, err := range client.List[corev1.Pod](s.Context(), s.c, client.InNamespace(s.ns), client.MatchingLabels{"app": "myapp"}) {
		if err != nil {
			s.Fatal(err)
		}
		if p.Labels["of"] != except && p.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}
