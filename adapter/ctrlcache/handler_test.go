package ctrlcache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/test/servertest"
)

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

// await waits until the handler was told so, n times.
func (s *story) await(t testing.TB, line string, n int) {
	t.Helper()
	ctx := bounded(t)
	for {
		s.mu.Lock()
		left := n
		for _, l := range s.lines {
			if l == line {
				left--
			}
		}
		if s.more == nil {
			s.more = make(chan struct{})
		}
		more := s.more
		s.mu.Unlock()
		if left <= 0 {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			t.Fatalf("not told of %q %d times: %q", line, n, s.lines)
		}
	}
}

func (s *story) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}

func (s *story) handler() toolscache.ResourceEventHandler {
	name := func(o any) string { return o.(*corev1.ConfigMap).Name }
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, isInInitialList bool) { s.say(fmt.Sprintf("add %s %v", name(o), isInInitialList)) },
		UpdateFunc: func(old, new any) {
			if old.(*corev1.ConfigMap).ResourceVersion == new.(*corev1.ConfigMap).ResourceVersion {
				s.say("resync " + name(new))
				return
			}
			s.say("update " + name(new))
		},
		DeleteFunc: func(o any) { s.say("delete " + name(o)) },
	}
}

func TestHandlers(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	ctx, direct := bounded(t), live(t)
	problems := make(chan informer.Problem, 100)
	c := newCache(t, crcache.Options{DefaultNamespaces: map[string]crcache.Config{ns: {}}}, ctrlcache.Options{
		OnProblem: func(p informer.Problem) { problems <- p },
	})
	a := testobj.ConfigMap(ns + "/a")
	must(t, direct.Create(ctx, a))
	in, err := c.GetInformer(ctx, &corev1.ConfigMap{})
	must(t, err)
	var early, late, resynced story
	first, err := in.AddEventHandler(early.handler())
	must(t, err)
	must(t, wait(ctx, first))
	early.await(t, "add a true", 1)

	b := testobj.ConfigMap(ns + "/b")
	must(t, direct.Create(ctx, b))
	early.await(t, "add b false", 1)
	b.Data = map[string]string{"k": "v"}
	must(t, direct.Update(ctx, b))
	early.await(t, "update b", 1)

	second, err := in.AddEventHandlerWithOptions(late.handler(), toolscache.HandlerOptions{})
	must(t, err)
	must(t, wait(ctx, second))
	late.await(t, "add a true", 1)
	late.await(t, "add b true", 1)
	if _, err := in.AddEventHandlerWithResyncPeriod(resynced.handler(), time.Second); err != nil {
		t.Fatal(err)
	}
	resynced.await(t, "resync a", 2)
	resynced.await(t, "resync b", 2)

	// A handler that panics gets its next event, and the others all of theirs.
	if _, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("no") }}); err != nil {
		t.Fatal(err)
	}
	must(t, in.RemoveEventHandler(second))
	must(t, in.RemoveEventHandler(second))
	told := late.len()
	must(t, direct.Delete(ctx, a))
	early.await(t, "delete a", 1)
	if got := late.len(); got != told {
		t.Errorf("a removed handler was told of %d changes", got-told)
	}
	for range 2 { // one of each object that it was told of
		select {
		case p := <-problems:
			if p.Handler == "" {
				t.Errorf("a problem of no handler: %v", p)
			}
		case <-ctx.Done():
			t.Fatal("no problem of the handler that panics")
		}
	}
	must(t, c.RemoveInformer(ctx, &corev1.ConfigMap{}))
	if _, err := in.AddEventHandler(early.handler()); !in.IsStopped() || err == nil {
		t.Errorf("a handler of a removed informer: %v", err)
	}
}

// wait waits until a handler has synced.
func wait(ctx context.Context, r toolscache.ResourceEventHandlerRegistration) error {
	h := r.(interface {
		Name() string
		Done() <-chan struct{}
	})
	select {
	case <-h.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", h.Name(), context.Cause(ctx))
	}
}

// Every failed request is told, with a reflector that the default handler of client-go can use.
func TestWatchErrorHandler(t *testing.T) {
	told := make(chan error, 100)
	c, err := ctrlcache.New(&rest.Config{Host: "http://127.0.0.1:1"}, crcache.Options{
		Mapper: live(t).RESTMapper(),
		DefaultWatchErrorHandler: func(ctx context.Context, r *toolscache.Reflector, err error) {
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
			select {
			case told <- err:
			default:
			}
		},
	})
	must(t, err)
	run(t, c.Start)
	if _, err := c.GetInformer(t.Context(), &corev1.Node{}, crcache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	ctx := bounded(t)
	for range 3 {
		select {
		case err := <-told:
			if err == nil {
				t.Error("told of nothing")
			}
		case <-ctx.Done():
			t.Fatal("not told of a server that is not there")
		}
	}
	over, cancel := context.WithDeadline(ctx, time.Now())
	defer cancel()
	if err := c.List(over, &corev1.NodeList{}); !apierrors.IsTimeout(err) {
		t.Errorf("a read of a cache that cannot sync: %v", err)
	}
}

// Metrics are in the registry of the operator while the cache runs.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	ctx := bounded(t)
	for range 2 { // a program may have several caches
		c := newCache(t, crcache.Options{}, ctrlcache.Options{Metrics: registry})
		must(t, c.List(ctx, &corev1.NodeList{}))
	}
	families, err := registry.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() == "flyball_cache_objects" {
			return
		}
	}
	t.Errorf("no metrics of the cache among %d", len(families))
}

// decodes counts how often a Counted was decoded.
var decodes atomic.Int64

type counted int

// UnmarshalJSON implements json.Unmarshaler.
func (c *counted) UnmarshalJSON(b []byte) error {
	decodes.Add(1)
	return json.Unmarshal(b, (*int)(c))
}

// Counted is a kind that counts how often it is decoded.
type Counted struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Size              counted `json:"size"`
}

// DeepCopyObject implements runtime.Object.
func (c *Counted) DeepCopyObject() runtime.Object {
	d := *c
	c.ObjectMeta.DeepCopyInto(&d.ObjectMeta)
	return &d
}

// CountedList is what a program registers with Counted.
type CountedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Counted `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *CountedList) DeepCopyObject() runtime.Object {
	d := &CountedList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&d.ListMeta)
	for i := range l.Items {
		d.Items = append(d.Items, *l.Items[i].DeepCopyObject().(*Counted))
	}
	return d
}

// A hundred handlers and two index functions cost one decode of an object, and one more of its old state.
func TestHandlersAndIndexesShareDecodes(t *testing.T) {
	const all = 100
	p := servertest.Shared(t)
	ns, ctx := servertest.Namespace(t, p), bounded(t)
	gvk := widgetGroup.WithKind("Counted")
	livetest.Define(t, livetest.Client(t, p, client.Options{}), testobj.CRD(gvk, "counteds"))
	u := &unstructured.Unstructured{Object: map[string]any{"size": int64(1)}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(ns)
	u.SetName("a")
	must(t, live(t).Create(ctx, u.DeepCopy()))
	s := runtime.NewScheme()
	s.AddKnownTypes(widgetGroup, &Counted{}, &CountedList{})
	metav1.AddToGroupVersion(s, widgetGroup)
	c := newCache(t, crcache.Options{Scheme: s, DefaultNamespaces: map[string]crcache.Config{ns: {}}}, ctrlcache.Options{})
	decodes.Store(0)
	for _, field := range []string{"size", "twice"} {
		must(t, c.IndexField(ctx, &Counted{}, field, func(o crclient.Object) []string { return []string{fmt.Sprint(o.(*Counted).Size)} }))
	}
	in, err := c.GetInformer(ctx, &Counted{})
	must(t, err)
	told := make(chan counted, all)
	for range all {
		r, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			UpdateFunc: func(_, o any) { told <- o.(*Counted).Size },
		})
		must(t, err)
		must(t, wait(ctx, r))
	}
	decodes.Store(0)
	must(t, live(t).Get(ctx, crclient.ObjectKeyFromObject(u), u))
	u.Object["size"] = int64(2)
	must(t, live(t).Update(ctx, u))
	for range all {
		select {
		case size := <-told:
			if size != 2 {
				t.Errorf("told of size %d", size)
			}
		case <-ctx.Done():
			t.Fatal("not all handlers are told")
		}
	}
	// Nothing keeps a state that no handler needs any more: a collection in between costs one more.
	if n := decodes.Load(); n < 1 || n > 4 {
		t.Errorf("%d decodes for one update", n)
	}
}
