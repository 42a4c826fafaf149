package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/wire"
)

// cluster has a server for each kind and selection that is asked for.
type cluster struct {
	mu      sync.Mutex
	servers map[string]*feedtest.Server
}

func newCluster() *cluster { return &cluster{servers: map[string]*feedtest.Server{}} }

func (c *cluster) server(kind, selection string) *feedtest.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := strings.TrimSpace(kind + " " + selection)
	s := c.servers[name]
	if s == nil {
		s = feedtest.New(&wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind(kind), Scheme: types})
		c.servers[name] = s
	}
	return s
}

func (c *cluster) connection() informer.Connection {
	return informer.Connection{
		Scheme: types,
		Mapping: func(_ context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
			if _, known := types.AllKnownTypes()[gvk]; !known {
				return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind()}
			}
			resource, _ := meta.UnsafeGuessKindToResource(gvk)
			scope := meta.RESTScopeNamespace
			if gvk.Kind == "Node" {
				scope = meta.RESTScopeRoot
			}
			return &meta.RESTMapping{Resource: resource, GroupVersionKind: gvk, Scope: scope}, nil
		},
		Source: func(gvk schema.GroupVersionKind, sel client.Selection) reflector.Source {
			return c.server(gvk.Kind, sel.String())
		},
	}
}

func newFactory(t *testing.T, c *cluster, change ...func(*informer.FactoryOptions)) *informer.Factory {
	t.Helper()
	o := informer.FactoryOptions{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for _, f := range change {
		f(&o)
	}
	f, err := informer.NewFactory(c.connection(), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func open[T any, P object.Ptr[T]](t *testing.T, f *informer.Factory) *informer.Typed[T] {
	t.Helper()
	s, err := informer.Open[T, P](t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runFactory runs f until stop is called.
func runFactory(f *informer.Factory) (stop func() error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	result := make(chan error, 1)
	go func() { result <- f.Run(ctx) }()
	return func() error { cancel(errEnd); return <-result }
}

func TestFactoryShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		s := c.server("ConfigMap", "")
		s.Put(configMap("a", "1"))
		f := newFactory(t, c)
		first, second := open[corev1.ConfigMap](t, f), open[corev1.ConfigMap](t, f)
		secrets := open[corev1.Secret](t, f)
		if first.Informer() != second.Informer() || len(f.Informers()) != 2 {
			t.Error("two informers for one kind")
		}
		var st story
		if _, err := first.AddHandler(st.handler(), informer.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		stop := runFactory(f)
		if !f.WaitForCacheSync(t.Context()) {
			t.Error("not synced")
		}
		st.want(t, "list", "add a=1 initial")
		if o, err := second.Lister().Get(key("a")); err != nil || o.Name != "a" {
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
		third := open[corev1.ConfigMap](t, f)
		if third.Informer() == first.Informer() {
			t.Error("a later user did not get a fresh informer")
		}
		synctest.Wait() // it runs, and may have synced before Open returned
		for _, name := range []string{"a", "b"} {
			if o, err := third.Lister().Get(key(name)); err != nil || o.Name != name {
				t.Errorf("opened while running: %v, %v", o, err)
			}
		}
		if _, err := first.AddHandler(st.handler(), informer.HandlerOptions{}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("a handler on what is closed: %v", err)
		}
		secrets.Close()
		if err := stop(); !errors.Is(err, errEnd) {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestFactoryRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		s := c.server("ConfigMap", "")
		s.Put(configMap("a", "1"))
		f := newFactory(t, c)
		maps := open[corev1.ConfigMap](t, f)
		if err := informer.Index(maps, "value", func(o *corev1.ConfigMap) []string { return []string{o.Data["value"]} }); err != nil {
			t.Fatal(err)
		}
		if err := maps.IndexPath("data[value]"); err != nil {
			t.Fatal(err)
		}
		for run := range 3 {
			value := fmt.Sprint(run)
			s.Put(configMap("a", value))
			var unsynced *informer.NotSyncedError
			if _, err := maps.Lister().Get(key("a")); !errors.As(err, &unsynced) {
				t.Errorf("run %d: a read before it: %v", run, err)
			}
			var st story
			if _, err := maps.AddHandler(st.handler(), informer.HandlerOptions{}); err != nil {
				t.Fatal(err)
			}
			synced := make(chan bool, 1)
			go func() { synced <- f.WaitForCacheSync(t.Context()) }()
			synctest.Wait()
			stop := runFactory(f)
			if !<-synced {
				t.Error("not synced")
			}
			st.want(t, "run", "add a="+value+" initial")
			for _, index := range []string{"value", "data[value]"} {
				if got := names(maps.Lister().Select(store.Is(index, value))); got != "a" {
					t.Errorf("index %s finds %q", index, got)
				}
			}
			_ = stop()
		}
	})
}

func TestWaitForCacheSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.server("Secret", "").Refuse(errors.New("boom"))
		f := newFactory(t, c)
		if !f.WaitForCacheSync(t.Context()) {
			t.Error("nothing is open, and that is not synced")
		}
		open[corev1.ConfigMap](t, f)
		secrets := open[corev1.Secret](t, f)
		stop := runFactory(f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if f.WaitForCacheSync(ctx) {
			t.Error("synced, with one kind refused")
		}
		err := f.WaitForSync(ctx)
		var missing *informer.SyncError
		if !errors.As(err, &missing) || len(missing.Missing) != 1 || missing.Missing[0].Kind.Kind != "Secret" ||
			!errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "boom") {
			t.Errorf("WaitForSync = %v", err)
		}
		waited := make(chan bool, 1)
		go func() { waited <- f.WaitForCacheSync(t.Context()) }()
		synctest.Wait()
		secrets.Close()
		if !<-waited {
			t.Error("not synced although what was missing is closed")
		}
		_ = stop()
	})
}

func TestFilteredFactory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		app, err := labels.Parse("app=web")
		if err != nil {
			t.Fatal(err)
		}
		f := newFactory(t, c, func(o *informer.FactoryOptions) {
			o.Selection = client.Selection{Namespace: "ns", Labels: app}
			o.Resync = time.Hour
			o.Configure = func(o *informer.Options) {
				if o.Kind.GVK.Kind == "ConfigMap" {
					o.Transform = informer.Transform(func(c *corev1.ConfigMap) error { c.Data["value"] += "!"; return nil })
				}
			}
		})
		c.server("ConfigMap", "namespace=ns labels=app=web").Put(configMap("a", "1"))
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		c.server("Node", "labels=app=web").Put(node)
		maps, nodes := open[corev1.ConfigMap](t, f), open[corev1.Node](t, f)
		stop := runFactory(f)
		if !f.WaitForCacheSync(t.Context()) {
			t.Fatal("not synced")
		}
		if o, err := maps.Lister().Get(key("a")); err != nil || o.Data["value"] != "1!" {
			t.Errorf("%v, %v", o, err)
		}
		var other *informer.NamespaceError
		if _, err := maps.Lister().Get(object.Key{Namespace: "other", Name: "a"}); !errors.As(err, &other) || other.Namespace != "other" {
			t.Errorf("Get from a namespace that is not watched: %v", err)
		}
		if _, err := maps.Lister().List("other", nil); !errors.As(err, &other) {
			t.Errorf("List of a namespace that is not watched: %v", err)
		}
		if o, err := nodes.Lister().Get(key("n")); err != nil || o.Name != "n" {
			t.Errorf("a cluster-scoped kind: %v, %v", o, err)
		}
		_ = stop()
	})
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	f := newFactory(t, newCluster())
	var unknown *object.UnknownKindError
	if _, err := informer.Open[unstructured.Unstructured](t.Context(), f); !errors.As(err, &unknown) {
		t.Errorf("unstructured without kind: %v", err)
	}
	if _, err := informer.NewFactory(informer.Connection{}, informer.FactoryOptions{}); err == nil {
		t.Error("a factory without connection")
	}
	conn := newCluster().connection()
	down := errors.New("down")
	conn.Mapping = func(context.Context, schema.GroupVersionKind) (*meta.RESTMapping, error) { return nil, down }
	f, err := informer.NewFactory(conn, informer.FactoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := informer.Open[corev1.Pod](t.Context(), f); !errors.Is(err, down) {
		t.Errorf("discovery down: %v", err)
	}
}

func TestAKindThatIsNotServedMayCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.server("Widget", "").Refuse(apierrors.NewNotFound(schema.GroupResource{Resource: "widgets"}, ""))
		f := newFactory(t, c)
		proto := &unstructured.Unstructured{}
		proto.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Widget"))
		kind, err := f.Connection().Resolve(t.Context(), proto)
		if err != nil || kind.Resource.Resource != "widgets" {
			t.Fatalf("Resolve = %+v, %v", kind, err)
		}
		share, err := f.OpenKind(kind, client.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		stop := runFactory(f)
		time.Sleep(2 * time.Minute)
		if st := share.Informer().State(); st.Watch.Phase != reflector.NotFound || st.Synced {
			t.Errorf("state %v, synced %v", st, st.Synced)
		}
		c.server("Widget", "").Refuse(nil)
		if !f.WaitForCacheSync(t.Context()) {
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
	f := newFactory(t, c)
	stop := runFactory(f)
	use := func() <-chan struct{} {
		maps := open[corev1.ConfigMap](t, f)
		reg, err := maps.AddHandler(informer.Handler[corev1.ConfigMap]{OnAdd: func(*corev1.ConfigMap, bool) {}}, informer.HandlerOptions{})
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

func TestFactoryManyCycles(t *testing.T) {
	c := newCluster()
	c.server("ConfigMap", "").Put(configMap("a", "1"))
	f := newFactory(t, c)
	for range 1000 {
		maps := open[corev1.ConfigMap](t, f)
		stop := runFactory(f)
		if !f.WaitForCacheSync(t.Context()) {
			t.Fatal("not synced")
		}
		extra := open[corev1.Secret](t, f)
		extra.Close()
		maps.Close()
		_ = stop()
	}
	if n := len(f.Informers()); n != 0 {
		t.Errorf("%d informers left", n)
	}
}
