package replicas_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/replicas"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/scheme"
)

var widget = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// A definition that is deleted and made again, with another scope, plural or other versions, under caches,
// clients and handlers: they follow by themselves.
func TestDefinitionsMadeAgain(t *testing.T) {
	seeds := 40
	if os.Getenv("FLYBALL_LONG") != "" {
		seeds = 1000
	}
	for seed := range uint64(seeds) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				if r.IntN(2) == 0 {
					(&again[corev1.ConfigMap, *corev1.ConfigMap]{t: t, rand: r}).play()
				} else {
					(&again[unstructured.Unstructured, *unstructured.Unstructured]{t: t, rand: r}).play()
				}
			})
		})
	}
}

// again is one run, with objects of type T: any Go type may stand for a kind.
type again[T any, P object.Ptr[T]] struct {
	t           *testing.T
	rand        *rand.Rand
	state       *replicas.State
	balancer    *replicas.Balancer
	now         replicas.Resource
	both        bool     // v2 is served, too
	only        bool     // v2 alone is served
	within      []string // the namespaces of the cache; nil: all
	barred      bool     // the cache watches namespaces, and takes no objects without one
	cache       *cache.Cache
	live, alone *client.Live // with a cache, and without one
	owner       handler.Handler[reconcile.Request]
}

func (a *again[T, P]) play() {
	a.state = replicas.NewState()
	a.balancer = replicas.New(rand.New(rand.NewPCG(a.rand.Uint64(), 1)), a.state, 1, true)
	defer a.balancer.Shutdown()
	a.balancer.Servers[0].Start(replicas.Manner{Streams: a.rand.IntN(2) == 0})
	a.define(true)
	a.fill()
	a.within = [][]string{nil, {"ns0"}, {"ns0", "ns9"}}[a.rand.IntN(3)]
	a.barred = a.within != nil && !a.now.Cluster
	defer a.open()()
	for round := range 5 {
		time.Sleep(70 * time.Second)
		if a.check(); a.t.Failed() {
			a.t.Fatalf("round %d: %+v, both %v, v2 alone %v", round, a.now, a.both, a.only)
		}
		for key := range a.state.Content(a.now.Plural) {
			a.state.Delete(a.now.Plural, key)
		}
		a.state.Delete(replicas.Definitions, object.Key{Name: a.now.Plural + ".example.com"})
		time.Sleep(time.Duration(a.rand.IntN(3)*a.rand.IntN(60)) * time.Second)
		a.define(false)
		time.Sleep(time.Duration(a.rand.IntN(2)*a.rand.IntN(10)) * time.Second)
		a.fill()
	}
}

// define makes the definition with a scope, a plural and versions that are drawn.
func (a *again[T, P]) define(first bool) {
	a.now = replicas.Resource{Group: "example.com", Version: "v1", Kind: "Widget", Custom: true, Cluster: a.rand.IntN(2) == 0}
	a.now.Plural = []string{"widgets", "gizmos"}[a.rand.IntN(2)]
	a.both = a.rand.IntN(2) == 0
	a.only = !first && a.both && a.rand.IntN(3) == 0
	v2 := a.now
	v2.Version = "v2"
	served := []replicas.Resource{{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"}}
	if !a.only {
		served = append(served, a.now)
	}
	if a.both {
		served = append(served, v2)
	}
	a.balancer.Servers[0].Serve(served...)
	a.state.Put(replicas.Definitions, object.Key{Name: a.now.Plural + ".example.com"})
}

func (a *again[T, P]) fill() {
	for i := range 3 {
		key := object.Key{Name: fmt.Sprint("o", i)}
		if !a.now.Cluster {
			key.Namespace = fmt.Sprint("ns", i%2)
		}
		a.state.Put(a.now.Plural, key)
	}
}

func (a *again[T, P]) open() (stop func()) {
	types := scheme.New()
	types.AddKnownTypeWithName(widget, &corev1.ConfigMap{})
	transport := &http.Transport{DialContext: a.balancer.Dial, MaxIdleConnsPerHost: 100}
	var err error
	for _, c := range []**client.Live{&a.live, &a.alone} {
		if *c, err = client.New(&rest.Config{Host: "http://api.test", Transport: transport}, client.Options{Scheme: types}); err != nil {
			a.t.Fatal(err)
		}
	}
	a.cache, err = cache.New(cache.Connect(a.live), cache.Options{Namespaces: a.within, Logger: slog.New(slog.NewTextHandler(a.t.Output(), nil))})
	if err != nil {
		a.t.Fatal(err)
	}
	group, _ := run.New(a.t.Context())
	group.Go("", a.cache.Run)
	proto := P(new(T))
	proto.GetObjectKind().SetGroupVersionKind(widget)
	if _, err := a.cache.Open(a.t.Context(), proto, client.Selection{}); err != nil {
		a.t.Fatal(err)
	}
	bind := handler.OwnerKind[T, P](widget, handler.Any).(handler.Binder[reconcile.Request])
	if a.owner, err = bind.Bind(a.t.Context(), types, a.live.Mapper()); err != nil {
		a.t.Fatal(err)
	}
	return func() {
		group.Stop(nil)
		group.Wait()
		transport.CloseIdleConnections()
	}
}

func (a *again[T, P]) check() {
	ctx, all := a.t.Context(), a.state.Content(a.now.Plural)
	if a.only {
		if p, err := client.Get[T, P](ctx, a.cache, object.Key{Namespace: "ns0", Name: "o0"}, client.OfKind(widget)); err == nil || apierrors.IsNotFound(err) {
			a.t.Errorf("v1 is not served, and the cache says: %v, %v", p, err)
		}
		return
	}
	for key, item := range all {
		asked := []object.Key{key}
		if a.now.Cluster {
			asked = append(asked, object.Key{Namespace: "ns0", Name: key.Name})
		}
		for _, k := range asked {
			a.cached(k, item)
			a.get("client of the cache", a.live, k, item)
			a.get("client alone", a.alone, k, item)
		}
	}
	held := 0
	for key := range all {
		if a.holds(key.Namespace) {
			held++
		}
	}
	a.list("cache", a.cache, held)
	a.list("client", a.alone, len(all))
	if !a.now.Cluster {
		a.list("cache, by namespace", a.cache, 2, client.InNamespace("ns0"))
		a.list("client, by namespace", a.alone, 2, client.InNamespace("ns0"))
	}
	a.owned()
}

// holds reports whether the cache holds objects of a namespace, or those without one.
func (a *again[T, P]) holds(namespace string) bool {
	if a.now.Cluster {
		return !a.barred
	}
	return a.within == nil || slices.Contains(a.within, namespace)
}

// cached reads an object from the cache, which says if it does not hold the namespace.
func (a *again[T, P]) cached(key object.Key, want replicas.Item) {
	if a.holds(key.Namespace) {
		a.get("cache", a.cache, key, want)
		return
	}
	p, err := client.Get[T, P](a.t.Context(), a.cache, key, client.OfKind(widget))
	if _, notHeld := errors.AsType[*informer.NamespaceError](err); err == nil || !notHeld && !a.now.Cluster {
		a.t.Errorf("cache of %q: get %s: %v, %v", a.within, key, p, err)
	}
}

// get reads an object. A client may take one call to notice.
func (a *again[T, P]) get(who string, r client.Reader, key object.Key, want replicas.Item) {
	p, err := client.Get[T, P](a.t.Context(), r, key, client.OfKind(widget))
	if err != nil && r != client.Reader(a.cache) {
		p, err = client.Get[T, P](a.t.Context(), r, key, client.OfKind(widget))
	}
	if err != nil || string(p.GetUID()) != want.UID || object.KeyOf(p) != want.Key {
		a.t.Errorf("%s: get %s: %v, %v, want %+v", who, key, p, err, want)
	}
}

func (a *again[T, P]) list(who string, r client.Reader, want int, opts ...client.ListOption) {
	n := 0
	for _, err := range client.List[T, P](a.t.Context(), r, append(opts, client.OfKind(widget))...) {
		if err != nil {
			if want > 0 {
				a.t.Errorf("%s: list: %v", who, err)
			}
			return
		}
		n++
	}
	if n != want {
		a.t.Errorf("%s: a list of %d, want %d", who, n, want)
	}
}

// owned asks for the request of an owner of the kind.
func (a *again[T, P]) owned() {
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns0", Name: "child", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Widget", Name: "o0", UID: "u"},
	}}}
	want := object.Key{Name: "o0"}
	if !a.now.Cluster {
		want.Namespace = "ns0"
	}
	err := a.owner.HandleGeneric(context.Background(), child, func(got reconcile.Request) {
		if got != want {
			a.t.Errorf("the owner is %s, want %s", got, want)
		}
	})
	if err != nil {
		a.t.Error(err)
	}
}
