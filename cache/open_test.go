package cache_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

func openTyped[T any, P object.Ptr[T]](t *testing.T, c *cache.Cache) *cache.Typed[T] {
	t.Helper()
	s, err := cache.Open[T, P](t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func configMap(name, value string) *corev1.ConfigMap {
	return testobj.ConfigMap("ns/"+name, testobj.Data("value", value))
}

func mapKey(name string) object.Key { return object.Key{Namespace: "ns", Name: name} }

// calls records the adds that a handler receives.
type calls struct {
	mu   sync.Mutex
	adds []string
}

func (c *calls) handler() informer.Handler[corev1.ConfigMap] {
	return informer.Handler[corev1.ConfigMap]{OnAdd: func(o *corev1.ConfigMap, initial bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.adds = append(c.adds, fmt.Sprintf("%s=%s %v", o.Name, o.Data["value"], initial))
	}}
}

func (c *calls) want(t *testing.T, adds ...string) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.adds, adds) {
		t.Errorf("added %q, want %q", c.adds, adds)
	}
	c.adds = nil
}

func TestHandlesShareAnInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		s := c.server("ConfigMap", "")
		s.Put(configMap("a", "1"))
		f := newCache(t, c, cache.Options{})
		first, second := openTyped[corev1.ConfigMap](t, f), openTyped[corev1.ConfigMap](t, f)
		secrets := openTyped[corev1.Secret](t, f)
		if first.Informer() != second.Informer() || len(f.Watches()) != 2 {
			t.Error("two informers for one kind")
		}
		var st calls
		if _, err := first.AddHandler(st.handler()); err != nil {
			t.Fatal(err)
		}
		stop := start(f)
		if f.WaitForSync(t.Context()) != nil {
			t.Error("not synced")
		}
		st.want(t, "a=1 true")
		if o, err := second.Lister().Get(mapKey("a")); err != nil || o.Name != "a" {
			t.Errorf("%v, %v", o, err)
		}
		first.Close()
		first.Close()
		synctest.Wait()
		if _, _, open := s.Counts(); open != 1 {
			t.Errorf("%d watches after one of two was closed", open)
		}
		second.Close()
		synctest.Wait()
		if _, _, open := s.Counts(); open != 0 {
			t.Errorf("%d watches after the last was closed", open)
		}
		if err := f.Run(t.Context()); !errors.Is(err, run.ErrRunning) {
			t.Errorf("a second Run = %v", err)
		}
		s.Put(configMap("b", "1")) // while nobody watches
		third := openTyped[corev1.ConfigMap](t, f)
		if third.Informer() == first.Informer() {
			t.Error("a later user did not get a fresh informer")
		}
		synctest.Wait() // it runs, and may have synced before Open returned
		for _, name := range []string{"a", "b"} {
			if o, err := third.Lister().Get(mapKey(name)); err != nil || o.Name != name {
				t.Errorf("opened while running: %v, %v", o, err)
			}
		}
		if _, err := first.AddHandler(st.handler()); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("a handler on what is closed: %v", err)
		}
		secrets.Close()
		if err := stop(); !errors.Is(err, errEnd) {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestListersAndIndexesOutliveARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		s := c.server("ConfigMap", "")
		s.Put(configMap("a", "1"))
		f := newCache(t, c, cache.Options{})
		maps := openTyped[corev1.ConfigMap](t, f)
		if err := cache.IndexField(f, "value", func(o *corev1.ConfigMap) []string { return []string{o.Data["value"]} }); err != nil {
			t.Fatal(err)
		}
		if err := f.AddIndex(kind("ConfigMap"), "data[value]", informer.IndexPath("data[value]")); err != nil {
			t.Fatal(err)
		}
		for run := range 3 {
			value := fmt.Sprint(run)
			s.Put(configMap("a", value))
			var unsynced *informer.NotSyncedError
			if _, err := maps.Lister().Get(mapKey("a")); !errors.As(err, &unsynced) {
				t.Errorf("run %d: a read before it: %v", run, err)
			}
			var st calls
			if _, err := maps.AddHandler(st.handler()); err != nil {
				t.Fatal(err)
			}
			synced := make(chan bool, 1)
			go func() { synced <- f.WaitForSync(t.Context()) == nil }()
			synctest.Wait()
			stop := start(f)
			if !<-synced {
				t.Error("not synced")
			}
			st.want(t, "a="+value+" true")
			for _, index := range []string{"value", "data[value]"} {
				if got := names(maps.Lister().Select(store.Is(index, value))); got != "ns/a" {
					t.Errorf("index %s finds %q", index, got)
				}
			}
			_ = stop()
		}
	})
}

func TestWaitForSyncEndsWhenWhatIsMissingIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.server("Secret", "").Refuse(errors.New("boom"))
		f := newCache(t, c, cache.Options{})
		if f.WaitForSync(t.Context()) != nil {
			t.Error("nothing is open, and that is not synced")
		}
		openTyped[corev1.ConfigMap](t, f)
		secrets := openTyped[corev1.Secret](t, f)
		stop := start(f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if f.WaitForSync(ctx) == nil {
			t.Error("synced, with one kind refused")
		}
		err := f.WaitForSync(ctx)
		var missing *informer.SyncError
		if !errors.As(err, &missing) || len(missing.Missing) != 1 || missing.Missing[0].Kind.Kind != "Secret" ||
			!errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "boom") {
			t.Errorf("WaitForSync = %v", err)
		}
		waited := make(chan bool, 1)
		go func() { waited <- f.WaitForSync(t.Context()) == nil }()
		synctest.Wait()
		secrets.Close()
		if !<-waited {
			t.Error("not synced although what was missing is closed")
		}
		_ = stop()
	})
}

func TestOptionsSelectOfEveryKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		app, err := labels.Parse("app=web")
		if err != nil {
			t.Fatal(err)
		}
		f := newCache(t, c, cache.Options{
			Namespaces: []string{"ns"}, Labels: app, Resync: time.Hour,
			Configure: func(o *informer.Options) {
				if o.Kind.GVK.Kind == "ConfigMap" {
					o.Transform = informer.Transform(func(c *corev1.ConfigMap) error { c.Data["value"] += "!"; return nil })
				}
			},
		})
		c.server("ConfigMap", "namespace=ns labels=app=web").Put(configMap("a", "1"))
		node := testobj.Node("n")
		c.server("Node", "labels=app=web").Put(node)
		maps, nodes := openTyped[corev1.ConfigMap](t, f), openTyped[corev1.Node](t, f)
		stop := start(f)
		if f.WaitForSync(t.Context()) != nil {
			t.Fatal("not synced")
		}
		if o, err := maps.Lister().Get(mapKey("a")); err != nil || o.Data["value"] != "1!" {
			t.Errorf("%v, %v", o, err)
		}
		var other *informer.NamespaceError
		if _, err := maps.Lister().Get(object.Key{Namespace: "other", Name: "a"}); !errors.As(err, &other) || other.Namespace != "other" {
			t.Errorf("Get from a namespace that is not watched: %v", err)
		}
		if _, err := maps.Lister().List("other", nil); !errors.As(err, &other) {
			t.Errorf("List of a namespace that is not watched: %v", err)
		}
		if o, err := nodes.Lister().Get(object.Key{Namespace: "any", Name: "n"}); err != nil || o.Name != "n" {
			t.Errorf("a cluster-scoped kind: %v, %v", o, err)
		}
		_ = stop()
	})
}

func TestOpenNamesTheCause(t *testing.T) {
	f := newCache(t, newCluster(), cache.Options{})
	var unknown *object.UnknownKindError
	if _, err := cache.Open[unstructured.Unstructured](t.Context(), f); !errors.As(err, &unknown) {
		t.Errorf("unstructured without kind: %v", err)
	}
	if _, err := cache.New(cache.Connection{}, cache.Options{}); err == nil {
		t.Error("a cache without connection")
	}
	conn := newCluster().connection()
	down := errors.New("down")
	conn.Mapping = func(context.Context, schema.GroupVersionKind) (*meta.RESTMapping, error) { return nil, down }
	f, err := cache.New(conn, cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Open[corev1.Pod](t.Context(), f); !errors.Is(err, down) {
		t.Errorf("discovery down: %v", err)
	}
}

func TestAKindThatIsNotServedMayCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.server("Widget", "").Refuse(apierrors.NewNotFound(schema.GroupResource{Resource: "widgets"}, ""))
		f := newCache(t, c, cache.Options{})
		proto := &unstructured.Unstructured{}
		proto.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Widget"))
		share := open(t, f, proto)
		if kind := share.Informer().Kind(); kind.Resource.Resource != "widgets" {
			t.Fatalf("kind %+v", kind)
		}
		stop := start(f)
		time.Sleep(2 * time.Minute)
		if st := share.Informer().State(); st.Watch.Phase != reflector.NotFound || st.Synced {
			t.Errorf("state %v, synced %v", st, st.Synced)
		}
		c.server("Widget", "").Refuse(nil)
		if f.WaitForSync(t.Context()) != nil {
			t.Error("not synced")
		}
		_ = stop()
	})
}

// TestLastCloseFreesTheMemory: what the last user closed is garbage, while the factory goes on.
func TestLastCloseFreesTheMemory(t *testing.T) {
	c := newCluster()
	for i := range 100 {
		c.server("ConfigMap", "").Put(configMap(fmt.Sprint(i), "1"))
	}
	f := newCache(t, c, cache.Options{})
	stop := start(f)
	use := func() <-chan struct{} {
		maps := openTyped[corev1.ConfigMap](t, f)
		reg, err := maps.AddHandler(informer.Handler[corev1.ConfigMap]{OnAdd: func(*corev1.ConfigMap, bool) {}})
		if err != nil {
			t.Fatal(err)
		}
		<-reg.Synced()
		defer maps.Close()
		in := maps.Informer()
		freed := make(chan struct{})
		runtime.AddCleanup(in, func(c chan struct{}) { close(c) }, freed)
		return freed
	}
	freed := use()
	deadline := time.After(5 * time.Minute)
	for done := false; !done; {
		runtime.GC() // the watch ends in its own time
		select {
		case <-freed:
			done = true
		case <-deadline:
			t.Fatal("the informer is still held")
		default:
			runtime.Gosched()
		}
	}
	_ = stop()
}

func TestManyRunsLeaveNothingOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // lists wait for one another
		c := newCluster()
		c.server("ConfigMap", "").Put(configMap("a", "1"))
		f := newCache(t, c, cache.Options{})
		for range 1000 {
			maps := openTyped[corev1.ConfigMap](t, f)
			stop := start(f)
			if f.WaitForSync(t.Context()) != nil {
				t.Fatal("not synced")
			}
			extra := openTyped[corev1.Secret](t, f)
			extra.Close()
			maps.Close()
			_ = stop()
		}
		if n := len(f.Watches()); n != 0 {
			t.Errorf("%d informers left", n)
		}
	})
}

// A handler and a lister of several namespaces cover all of them, and no others.
func TestHandlersAndListersCoverTheNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.server("ConfigMap", "namespace=x").Put(testobj.ConfigMap("x/a", testobj.Data("value", "1")))
		c.server("ConfigMap", "namespace=y").Put(testobj.ConfigMap("y/b", testobj.Data("value", "2")))
		objects := newCache(t, c, cache.Options{Namespaces: []string{"y", "x"}})
		maps := openTyped[corev1.ConfigMap](t, objects)
		defer maps.Close()
		var got calls
		sub, err := maps.AddHandler(got.handler())
		if err != nil {
			t.Fatal(err)
		}
		l := maps.Lister()
		if _, err := l.List("", nil); !errors.Is(err, object.ErrNoAnswer) {
			t.Errorf("a list before the sync: %v", err)
		}
		stop := start(objects)
		<-sub.Synced()
		synctest.Wait()
		got.mu.Lock()
		slices.Sort(got.adds)
		got.mu.Unlock()
		got.want(t, "a=1 true", "b=2 true")
		if all := names(l.All("", nil)); all != "x/a y/b" {
			t.Errorf("the lister has %q", all)
		}
		if o, err := l.Get(object.Key{Namespace: "y", Name: "b"}); err != nil || o.Data["value"] != "2" {
			t.Errorf("Get = %v, %v", o, err)
		}
		var other *informer.NamespaceError
		if _, err := l.Get(object.Key{Namespace: "z", Name: "a"}); !errors.As(err, &other) || !slices.Equal(other.Held, []string{"x", "y"}) {
			t.Errorf("Get of a namespace that is not held: %v", err)
		}
		if _, n := sub.Waiting(); n != 2 {
			t.Errorf("%d registrations", n)
		}
		sub.Close()
		c.server("ConfigMap", "namespace=x").Put(testobj.ConfigMap("x/late"))
		got.want(t)
		_ = stop()
	})
}
