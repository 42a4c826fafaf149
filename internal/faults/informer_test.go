package faults_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/internal/ledger"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/store"
)

// One handler never returns. A million updates of a thousand keys cost one slot for each key, and
// delay no other observer. The audit also measures the heap.
func TestFault21HandlerBlocksForEver(t *testing.T) {
	const keys = 1000
	updates := pick(1_000_000, 100_000)
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	server := feedtest.New(&wire.Kind{GVK: gvk, Scheme: scheme.New()})
	in, err := informer.New(server, informer.Options{
		Kind:   informer.Kind{GVK: gvk, Resource: corev1.SchemeGroupVersion.WithResource("configmaps")},
		Scheme: scheme.New(), Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	release := make(chan struct{})
	blocked, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{
		Name:  "blocked",
		OnAdd: func(*corev1.ConfigMap, bool) { <-release },
	})
	must(t, err)
	book := ledger.New()
	handler, source := book.View("handler"), book.View("source")
	_, err = informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{
		OnAdd:    func(o *corev1.ConfigMap, _ bool) { handler.Saw(o) },
		OnUpdate: func(_, o *corev1.ConfigMap) { handler.Saw(o) },
	})
	must(t, err)
	_, err = in.Subscribe("source", func(c store.Change) { source.SawHeader(c.New.Header()) })
	must(t, err)

	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- in.Run(ctx) }()
	defer func() { close(release); cancel(); <-over }()

	put := func(i int) {
		server.PutJSON(object.Key{Namespace: "n", Name: fmt.Sprint("k", i%keys)}, "", fmt.Sprintf(`"data":{"i":"%d"}`, i))
	}
	settle := func() { // the book agrees with the server, and all observers but the blocked one have seen everything
		t.Helper()
		for _, m := range server.Objects() {
			book.Wrote(m)
		}
		late, done := context.WithTimeout(ctx, hung)
		defer done()
		if err := book.Wait(late); err != nil {
			t.Fatal(err)
		}
	}
	var heap int64
	for i := range updates {
		put(i)
		if i%(10*keys) == 10*keys-1 {
			settle()
		}
		if i == 30*keys-1 {
			_, heap = measure(t)
		}
	}
	settle()
	_, after := measure(t)
	s := blocked.Stats()
	t.Logf("heap %d → %d KiB, %+v", heap>>10, after>>10, s)
	if after > heap+2<<20 {
		t.Errorf("heap %d → %d bytes", heap, after)
	}
	if s.Pending > keys || s.Delivered != 0 {
		t.Errorf("%+v", s)
	}
	if err := ledger.Same(headers(in), slices.Values(server.Objects())); err != nil {
		t.Error(err)
	}
}

// headers yields the metadata of an informer's objects.
func headers(in *informer.Informer) func(func(*metav1.ObjectMeta) bool) {
	return func(yield func(*metav1.ObjectMeta) bool) {
		snapshot, err := in.Snapshot()
		if err != nil {
			return
		}
		for e := range snapshot.All() {
			h := e.Header()
			if !yield(&metav1.ObjectMeta{Namespace: h.Namespace, Name: h.Name, UID: h.UID, ResourceVersion: h.ResourceVersion}) {
				return
			}
		}
	}
}

// crowd counts concurrent lists, and records when each began.
type crowd struct {
	mu     sync.Mutex
	now    int
	most   int
	begins []time.Time
}

// slowly delays each list.
type slowly struct {
	*feedtest.Server
	c *crowd
}

func (s slowly) enter() (leave func()) {
	s.c.mu.Lock()
	s.c.now++
	s.c.most = max(s.c.most, s.c.now)
	s.c.begins = append(s.c.begins, time.Now())
	s.c.mu.Unlock()
	time.Sleep(3 * time.Second)
	return func() {
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		s.c.now--
	}
}

func (s slowly) List(ctx context.Context, q wire.ListQuery) (*wire.List, error) {
	defer s.enter()()
	return s.Server.List(ctx, q)
}

// 50 kinds start at once. Only a few of them list at a time, and their lists are spread.
func TestFault32FiftyKindsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kinds = 50
		c := &crowd{}
		var mu sync.Mutex
		servers := map[string]*feedtest.Server{}
		conn := cache.Connection{
			Scheme: scheme.New(),
			Mapping: func(_ context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
				resource, _ := meta.UnsafeGuessKindToResource(gvk)
				return &meta.RESTMapping{Resource: resource, GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace}, nil
			},
			Source: func(gvk schema.GroupVersionKind, _ client.Selection) reflector.Source {
				mu.Lock()
				defer mu.Unlock()
				if servers[gvk.Kind] == nil {
					servers[gvk.Kind] = feedtest.New(&wire.Kind{GVK: gvk})
				}
				return slowly{servers[gvk.Kind], c}
			},
		}
		all, err := cache.New(conn, cache.Options{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		book := ledger.New()
		for i := range kinds {
			gvk := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: fmt.Sprint("Kind", i)}
			h, err := all.Open(t.Context(), instance(gvk, "", "", nil), client.Selection{})
			must(t, err)
			defer h.Close()
			o := instance(gvk, "n", fmt.Sprint("o", i), nil)
			servers[gvk.Kind].Put(o)
			book.Wrote(o)
			v := book.View(gvk.Kind)
			_, err = h.Subscribe("test", func(c store.Change) { v.SawHeader(c.New.Header()) })
			must(t, err)
			for j := range kinds { // a view has objects of its kind alone
				if j != i {
					v.Saw(&metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("o", j), UID: "uid-1", ResourceVersion: "2"})
				}
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan error, 1)
		began := time.Now()
		go func() { over <- all.Run(ctx) }()
		defer func() { cancel(); <-over }()
		late, done := context.WithTimeout(ctx, time.Hour)
		defer done()
		must(t, all.WaitForSync(late))
		must(t, book.Wait(late))
		took := time.Since(began)

		if c.most > 8 {
			t.Errorf("%d lists at a time", c.most)
		}
		if len(c.begins) != kinds {
			t.Errorf("%d lists", len(c.begins))
		}
		slices.SortFunc(c.begins, time.Time.Compare)
		if alone := len(slices.Compact(slices.Clone(c.begins))); alone < kinds-10 {
			t.Errorf("%d of %d lists began at a time of their own", alone, kinds)
		}
		if took > time.Minute {
			t.Errorf("took %v", took)
		}
		t.Logf("%d at a time at most, all synced after %v", c.most, took)
	})
}
