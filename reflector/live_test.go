package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { leaktest.Main(servertest.Wrap(m)) }

// copied is a Sink that others look at while it changes.
type copied struct {
	mu       sync.Mutex
	content  map[string]string // name → version
	building map[string]string
	changed  chan struct{}
}

func newCopied() *copied {
	return &copied{content: map[string]string{}, changed: make(chan struct{}, 1)}
}

func (c *copied) change(f func()) {
	c.mu.Lock()
	f()
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *copied) into() map[string]string {
	if c.building != nil {
		return c.building
	}
	return c.content
}

func (c *copied) Commit() {}

func (c *copied) Apply(u *reflector.Update) {
	c.change(func() {
		switch u.What {
		case reflector.Put:
			c.into()[u.Entry.Key().Name] = u.Entry.ResourceVersion()
		case reflector.Delete:
			delete(c.into(), u.Entry.Key().Name)
		case reflector.Replace:
			c.building = map[string]string{}
		case reflector.Sweep:
			c.content, c.building = c.building, nil
		case reflector.Discard:
			c.building = nil
		}
	})
}

// await waits until f is true of the content, and the state if that is wanted.
func (c *copied) await(t *testing.T, what string, r *reflector.Reflector, f func(map[string]string, reflector.State) bool) {
	t.Helper()
	late := time.NewTimer(10 * time.Minute) // only what hangs takes so long
	defer late.Stop()
	for {
		c.mu.Lock()
		ok := f(c.content, r.State())
		content := maps.Clone(c.content)
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-c.changed:
		case <-late.C:
			t.Fatalf("%s: not in time: %v, %+v", what, content, r.State())
		}
	}
}

var errOver = errors.New("over")

// follow runs a Reflector of the kind in the namespace until the test ends.
func follow(t *testing.T, c *client.Live, gvk schema.GroupVersionKind, namespace string, cfg reflector.Options) (*copied, *reflector.Reflector) {
	t.Helper()
	sink := newCopied()
	cfg.Resource = gvk.Kind
	cfg.Logger, cfg.OnState = slog.New(slog.DiscardHandler), func(reflector.State) { sink.change(func() {}) }
	r, err := reflector.New(c.Feed(gvk, client.Selection{Namespace: namespace}), sink, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel(errOver)
		if err := <-done; err != errOver {
			t.Errorf("Run: %v", err)
		}
	})
	return sink, r
}

func dial(t *testing.T, p livetest.Server) *client.Live {
	t.Helper()
	return livetest.Client(t, p, client.Options{})
}

var configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func configMap(namespace, name, value string) *corev1.ConfigMap {
	return testobj.ConfigMap(namespace+"/"+name, testobj.Data("value", value))
}

// truth is what the server has.
func truth(t *testing.T, c *client.Live, namespace string) map[string]string {
	t.Helper()
	m := map[string]string{}
	for o, err := range client.List[corev1.ConfigMap](t.Context(), c, client.InNamespace(namespace)) {
		if err != nil {
			t.Fatal(err)
		}
		m[o.Name] = o.ResourceVersion
	}
	return m
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// awaitTruth waits until the content is what the server has.
func awaitTruth(t *testing.T, what string, c *client.Live, sink *copied, r *reflector.Reflector, namespace string) {
	t.Helper()
	want := truth(t, c, namespace)
	sink.await(t, what, r, func(m map[string]string, s reflector.State) bool {
		return s.HasSynced && s.Phase == reflector.Synced && maps.Equal(m, want)
	})
}

func TestStreamedAndPagedContentFollowTheServer(t *testing.T) {
	p := servertest.Shared(t)
	c := dial(t, p)
	ns := servertest.Namespace(t, p)
	for i := range 10 {
		_, err := client.Create(t.Context(), c, configMap(ns, fmt.Sprintf("cm-%d", i), "1"))
		must(t, err)
	}
	streamed, rs := follow(t, c, configMaps, ns, reflector.Options{})
	paged, rp := follow(t, c, configMaps, ns, reflector.Options{Paged: true, PageSize: 3})
	awaitTruth(t, "streaming list", c, streamed, rs, ns)
	awaitTruth(t, "paged list", c, paged, rp, ns)
	if s := rs.State(); s.NoStream == livetest.Streams(t, p) {
		t.Errorf("the server has streaming lists: %v; the state: %+v", s.NoStream, s)
	}
	for i := range 5 {
		_, err := client.Update(t.Context(), c, configMap(ns, fmt.Sprintf("cm-%d", i), "2"))
		must(t, err)
		must(t, client.Delete(t.Context(), c, configMap(ns, fmt.Sprintf("cm-%d", 9-i), "")))
	}
	awaitTruth(t, "streaming list", c, streamed, rs, ns)
	awaitTruth(t, "paged list", c, paged, rp, ns)
	for _, s := range []reflector.State{rs.State(), rp.State()} {
		if s.Relists["first"] != 1 || len(s.Relists) != 1 || s.Episode != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// The server dies and comes back, forgets its history, and goes back in time.
func TestContentFollowsRestartsAndRestores(t *testing.T) {
	p := planetest.Private(t, plane.Options{})
	c := dial(t, p)
	const ns = "default"
	put := func(name, value string) {
		t.Helper()
		_, err := client.Create(t.Context(), c, configMap(ns, name, value))
		must(t, err)
	}
	put("a", "1")
	sink, r := follow(t, c, configMaps, ns, reflector.Options{})
	awaitTruth(t, "first list", c, sink, r, ns)

	p.Kill()
	must(t, p.Restart(t.Context()))
	put("b", "1")
	awaitTruth(t, "after a restart", c, sink, r, ns)
	s := r.State()
	delete(s.Relists, "expired") // a server that has just started may not know our version
	if s.Relists["first"] != 1 || len(s.Relists) != 1 {
		t.Errorf("after a restart: %+v", s)
	}

	snapshot, err := p.Snapshot()
	must(t, err)
	for i := range 20 {
		put(fmt.Sprintf("lost-%d", i), "1")
	}
	must(t, client.Delete(t.Context(), c, configMap(ns, "a", "")))
	awaitTruth(t, "before the restore", c, sink, r, ns)
	must(t, p.Restore(t.Context(), snapshot))
	sink.await(t, "restore", r, func(_ map[string]string, s reflector.State) bool {
		return s.Relists["went back"]+s.Relists["older view"]+s.Relists["list expired"] > 0
	})
	awaitTruth(t, "after the restore", c, sink, r, ns)
	if s := r.State(); s.Relists["went back"] != 1 {
		t.Errorf("after the restore: %+v", s)
	}
	put("c", "1")
	awaitTruth(t, "at the end", c, sink, r, ns)
}

var widgets = schema.GroupVersionKind{Group: "flyball.test", Version: "v1", Kind: "Widget"}

func widgetCRD() *unstructured.Unstructured { return testobj.CRD(widgets, "widgets") }

func widget(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(widgets)
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

// A kind that comes, goes and comes back.
func TestLiveKindComesAndGoes(t *testing.T) {
	p := servertest.Shared(t)
	c := dial(t, p)
	sink, r := follow(t, c, widgets, "", reflector.Options{Absent: time.Second})
	sink.await(t, "absent", r, func(_ map[string]string, s reflector.State) bool { return s.Phase == reflector.NotFound })
	for round := range 2 {
		_, err := client.Create(t.Context(), c, widgetCRD())
		must(t, err)
		sink.await(t, "the kind came", r, func(_ map[string]string, s reflector.State) bool { return s.Phase == reflector.Synced })
		name := fmt.Sprintf("w-%d", round)
		_, err = client.Create(t.Context(), c, widget(name))
		must(t, err)
		sink.await(t, "an object came", r, func(m map[string]string, _ reflector.State) bool { return len(m) == 1 && m[name] != "" })
		awaitDefinition(t, c.Feed(widgets, client.Selection{}))
		must(t, client.Delete(t.Context(), c, widgetCRD()))
		sink.await(t, "the kind went", r, func(m map[string]string, s reflector.State) bool {
			return len(m) == 0 && s.Phase == reflector.NotFound
		})
	}
}

// awaitDefinition waits until the definition of a kind has been read. A kind whose definition was never read is not known
// to be gone.
func awaitDefinition(t *testing.T, f *client.Feed) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for {
		f.Define(ctx)
		_, err := f.Gone(ctx)
		if err != nil && strings.HasSuffix(err.Error(), "is there") {
			return
		}
		if run.Sleep(ctx, 10*time.Millisecond) != nil {
			t.Fatal(err)
		}
	}
}
