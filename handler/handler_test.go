package handler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/internal/inline"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/store"
)

func pod(app string, owners ...metav1.OwnerReference) *corev1.Pod {
	return testobj.Pod("web/a", testobj.UID("u1"), testobj.Version("1"), testobj.Labels("app="+app), testobj.OwnedBy(owners...))
}

func owner(apiVersion, kind, name string, controller bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: "o", Controller: &controller}
}

func requests(t *testing.T, h handler.Handler[reconcile.Request], c store.Change) []string {
	t.Helper()
	var got []string
	if err := h.Handle(context.Background(), c, func(r reconcile.Request) { got = append(got, r.String()) }); err != nil {
		t.Errorf("Handle: %v", err)
	}
	return got
}

// byApp is a mapping function that names the request after a label of the object.
func byApp(_ context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
	return []reconcile.Request{{Namespace: p.Namespace, Name: p.Labels["app"]}}, nil
}

func byAppOf(_ context.Context, h *object.Header) ([]reconcile.Request, error) {
	return []reconcile.Request{{Namespace: h.Namespace, Name: h.Labels["app"]}}, nil
}

func TestMapsOldAndNewState(t *testing.T) {
	a, b := testobj.Entry(pod("shop")), testobj.Entry(pod("bar"))
	key := object.Key{Namespace: "web", Name: "a"}
	for name, tc := range map[string]struct {
		c    store.Change
		want []string
	}{
		"created":       {store.Change{Key: key, New: a}, []string{"web/shop"}},
		"changed":       {store.Change{Key: key, Old: a, New: b}, []string{"web/shop", "web/bar"}},
		"deleted":       {store.Change{Key: key, Old: a, Last: b}, []string{"web/shop", "web/bar"}},
		"missed":        {store.Change{Key: key, Old: a, Last: a, Missed: true}, []string{"web/shop"}},
		"came and went": {store.Change{Key: key, Last: b}, []string{"web/bar"}},
		"resync":        {store.Change{Key: key, Old: a, New: a, Resync: true}, []string{"web/shop"}},
	} {
		if got := requests(t, handler.Map(byApp), tc.c); !slices.Equal(got, tc.want) {
			t.Errorf("%s: Map gives %v, want %v", name, got, tc.want)
		}
		if got := requests(t, handler.MapHeader(byAppOf), tc.c); !slices.Equal(got, tc.want) {
			t.Errorf("%s: MapHeader gives %v, want %v", name, got, tc.want)
		}
		if got := requests(t, handler.Self(), tc.c); !slices.Equal(got, []string{"web/a"}) {
			t.Errorf("%s: Self gives %v", name, got)
		}
	}
}

func TestMapOfAnUndecodableState(t *testing.T) {
	garbage := errors.New("garbage")
	c := store.Change{
		Key: object.Key{Namespace: "web", Name: "a"}, Old: testobj.Entry(pod("shop")),
		New: store.Rejected(object.Header{Key: object.Key{Namespace: "web", Name: "a"}}, garbage),
	}
	var got []string
	err := handler.Map(byApp).Handle(context.Background(), c, func(r reconcile.Request) { got = append(got, r.String()) })
	if !errors.Is(err, garbage) || !slices.Equal(got, []string{"web/shop"}) {
		t.Errorf("%v, %v; want the old state mapped and the cause", got, err)
	}
	if got := requests(t, handler.MapHeader(byAppOf), c); !slices.Equal(got, []string{"web/shop", "web/"}) {
		t.Errorf("MapHeader gives %v", got)
	}
}

// A function that panics on the old state is called for the new one.
func TestPanicOnOneStateKeepsTheOther(t *testing.T) {
	c := store.Change{Key: object.Key{Namespace: "web", Name: "a"}, Old: testobj.Entry(pod("bad")), New: testobj.Entry(pod("shop"))}
	for name, h := range map[string]handler.Handler[reconcile.Request]{
		"Map": handler.Map(func(ctx context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
			if p.Labels["app"] == "bad" {
				panic("bad")
			}
			return byApp(ctx, p)
		}),
		"MapHeader": handler.MapHeader(func(ctx context.Context, h *object.Header) ([]reconcile.Request, error) {
			if h.Labels["app"] == "bad" {
				panic("bad")
			}
			return byAppOf(ctx, h)
		}),
	} {
		var got []string
		err := h.Handle(context.Background(), c, func(r reconcile.Request) { got = append(got, r.String()) })
		var panicked *run.PanicError
		if !errors.As(err, &panicked) || !slices.Equal(got, []string{"web/shop"}) {
			t.Errorf("%s: %v, %v; want the new state mapped, and the panic", name, got, err)
		}
	}
}

func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	return m
}

func bind(t *testing.T, h handler.Handler[reconcile.Request]) handler.Handler[reconcile.Request] {
	t.Helper()
	b, ok := h.(handler.Binder[reconcile.Request])
	if !ok {
		t.Fatalf("%T is no Binder", h)
	}
	if err := b.Check(scheme.New()); err != nil {
		t.Fatal(err)
	}
	bound, err := b.Bind(context.Background(), scheme.New(), mapper())
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

func TestOwnerRequestsOwnersOfBothStates(t *testing.T) {
	controlling := bind(t, handler.Owner[appsv1.Deployment](handler.Controlling))
	every := bind(t, handler.Owner[appsv1.Deployment](handler.Any))
	node := bind(t, handler.Owner[corev1.Node](handler.Any))

	p1, p2 := owner("apps/v1", "Deployment", "p1", true), owner("apps/v1", "Deployment", "p2", true)
	for name, tc := range map[string]struct {
		h        handler.Handler[reconcile.Request]
		old, new []metav1.OwnerReference
		want     []string
	}{
		"the child drops its owner":    {controlling, []metav1.OwnerReference{p1}, nil, []string{"web/p1"}},
		"the child changes its owner":  {controlling, []metav1.OwnerReference{p1}, []metav1.OwnerReference{p2}, []string{"web/p1", "web/p2"}},
		"only the controlling one":     {controlling, nil, []metav1.OwnerReference{owner("apps/v1", "Deployment", "p0", false), p1}, []string{"web/p1"}},
		"every one":                    {every, nil, []metav1.OwnerReference{owner("apps/v1", "Deployment", "p0", false), p1}, []string{"web/p0", "web/p1"}},
		"another version is the same":  {controlling, nil, []metav1.OwnerReference{owner("apps/v1beta2", "Deployment", "p1", true)}, []string{"web/p1"}},
		"another group is another":     {controlling, nil, []metav1.OwnerReference{owner("example.org/v1", "Deployment", "p1", true)}, nil},
		"another kind":                 {controlling, nil, []metav1.OwnerReference{owner("apps/v1", "ReplicaSet", "p1", true)}, nil},
		"an apiVersion that is none":   {controlling, nil, []metav1.OwnerReference{owner("a/b/c", "Deployment", "p1", true)}, nil},
		"cluster-scoped: no namespace": {node, nil, []metav1.OwnerReference{owner("v1", "Node", "n1", false)}, []string{"n1"}},
	} {
		c := store.Change{
			Key: object.Key{Namespace: "web", Name: "a"},
			Old: testobj.Entry(pod("shop", tc.old...)), New: testobj.Entry(pod("shop", tc.new...)),
		}
		if got := requests(t, tc.h, c); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		var got []string
		err := tc.h.HandleGeneric(context.Background(), pod("shop", tc.new...), func(r reconcile.Request) { got = append(got, r.String()) })
		if want := tc.want[len(tc.want)-min(len(tc.want), len(tc.new)):]; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: generic: %v, %v; want %v", name, got, err, want)
		}
	}
}

// A cluster-scoped object names a namespaced owner, which cannot be: it causes no request.
func TestClusterScopedObjectHasNoNamespacedOwner(t *testing.T) {
	p := pod("shop", owner("apps/v1", "Deployment", "p1", true))
	p.Namespace = ""
	c := store.Change{Key: object.Key{Name: "a"}, New: testobj.Entry(p)}
	if got := requests(t, bind(t, handler.Owner[appsv1.Deployment](handler.Controlling)), c); len(got) != 0 {
		t.Errorf("requests %v, want none", got)
	}
}

func TestUnknownOwnerCannotBeBound(t *testing.T) {
	unknown := handler.OwnerKind[metav1.PartialObjectMetadata](schema.GroupVersionKind{}, handler.Any).(handler.Binder[reconcile.Request])
	err := unknown.Check(runtime.NewScheme())
	if _, ok := errors.AsType[*object.UnknownKindError](err); !ok {
		t.Errorf("an owner of no kind: %v", err)
	}
	another := handler.OwnerKind[corev1.Pod](corev1.SchemeGroupVersion.WithKind("Node"), handler.Any).(handler.Binder[reconcile.Request])
	err = another.Check(scheme.New())
	if _, ok := errors.AsType[*object.UnknownKindError](err); !ok || !strings.Contains(err.Error(), "Kind=Node") {
		t.Errorf("a kind that the type does not have: %v", err)
	}
	custom := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Shop"}
	b := handler.OwnerKind[metav1.PartialObjectMetadata](custom, handler.Any).(handler.Binder[reconcile.Request])
	if err := b.Check(runtime.NewScheme()); err != nil {
		t.Errorf("a kind known at run time: %v", err)
	}
	if _, err := b.Bind(context.Background(), runtime.NewScheme(), mapper()); !meta.IsNoMatchError(errors.Unwrap(err)) {
		t.Errorf("a kind that the server does not have: %v", err)
	}
	if err := b.Handle(context.Background(), store.Change{}, nil); err == nil {
		t.Error("an unbound handler finds nothing and says nothing")
	}
}

// hanging is a mapper whose server does not answer.
type hanging struct{ meta.RESTMapper }

func (hanging) Mapping(ctx context.Context, _ schema.GroupVersionKind) (*meta.RESTMapping, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// Bind returns when its ctx ends, also if the mapper hangs.
func TestBindEndsWithItsContext(t *testing.T) {
	stopping := errors.New("stopping")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stopping)
	b := handler.Owner[appsv1.Deployment](handler.Any).(handler.Binder[reconcile.Request])
	if _, err := b.Bind(ctx, scheme.New(), hanging{}); !errors.Is(err, stopping) {
		t.Errorf("Bind = %v", err)
	}
}

func TestGenericEventsAreMapped(t *testing.T) {
	for name, tc := range map[string]struct {
		h    handler.Handler[reconcile.Request]
		want string
	}{
		"Self":      {handler.Self(), "web/a"},
		"Map":       {handler.Map(byApp), "web/shop"},
		"MapHeader": {handler.MapHeader(byAppOf), "web/shop"},
	} {
		var got []string
		err := tc.h.HandleGeneric(context.Background(), pod("shop"), func(r reconcile.Request) { got = append(got, r.String()) })
		if err != nil || !slices.Equal(got, []string{tc.want}) {
			t.Errorf("%s: %v, %v; want %s", name, got, err, tc.want)
		}
	}
	var mismatch *handler.TypeError
	err := handler.Map(byApp).HandleGeneric(context.Background(), &corev1.Node{}, nil)
	if !errors.As(err, &mismatch) || err.Error() != "handler for *v1.Pod given a *v1.Node" {
		t.Errorf("another type: %v", err)
	}
}

// A ConfigMap has two owners. Controlling requests the one that controls it, and Any requests both.
func ExampleOwner() {
	refs := []metav1.OwnerReference{owner("apps/v1", "Deployment", "shop", true), owner("apps/v1", "Deployment", "bar", false)}
	c := store.Change{New: testobj.Entry(testobj.ConfigMap("web/settings", testobj.OwnedBy(refs...)))}
	for _, which := range []handler.Owners{handler.Controlling, handler.Any} {
		// A controller binds: controller.Watches[corev1.ConfigMap](handler.Owner[appsv1.Deployment](which))
		h, err := handler.Owner[appsv1.Deployment](which).(handler.Binder[reconcile.Request]).Bind(context.Background(), scheme.New(), mapper())
		if err != nil {
			fmt.Println(err)
			return
		}
		var requested []reconcile.Request
		err = h.Handle(context.Background(), c, func(r reconcile.Request) { requested = append(requested, r) })
		fmt.Println(requested, err)
	}
	// Output:
	// [web/shop] <nil>
	// [web/shop web/bar] <nil>
}

// The labels of a Pod change. The Service that selected it and the Service that selects it now are requested.
func ExampleMap() {
	servicesOf := func(ctx context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
		return []reconcile.Request{{Namespace: p.Namespace, Name: p.Labels["app"]}}, nil
	}
	h := handler.Map(servicesOf)
	h.Handle(context.Background(), store.Change{Old: testobj.Entry(pod("shop")), New: testobj.Entry(pod("bar"))}, func(r reconcile.Request) {
		fmt.Println(r)
	})
	// Output:
	// web/shop
	// web/bar
}

// A function of a change is called once for it, and what it returns beside an error is requested.
func TestFuncIsCalledOnceForAChange(t *testing.T) {
	a, b := testobj.Entry(pod("shop")), testobj.Entry(pod("bar"))
	failed := errors.New("failed")
	var err error
	var seen []store.Change
	h := handler.Func(func(_ context.Context, c store.Change) ([]reconcile.Request, error) {
		seen = append(seen, c)
		return []reconcile.Request{c.Key}, err
	})
	c := store.Change{Key: object.Key{Namespace: "web", Name: "a"}, Old: a, New: b}
	if got := requests(t, h, c); !slices.Equal(got, []string{"web/a"}) || len(seen) != 1 || seen[0].Old != a || seen[0].New != b {
		t.Errorf("requests %v for %v", got, seen)
	}
	err = failed
	var got []string
	if err := h.Handle(t.Context(), c, func(r reconcile.Request) { got = append(got, r.String()) }); err != failed || !slices.Equal(got, []string{"web/a"}) {
		t.Errorf("%v, %v; want the request and the error", got, err)
	}
	if err := h.HandleGeneric(t.Context(), pod("shop"), nil); !errors.Is(err, handler.ErrNoGeneric) {
		t.Errorf("from outside the cluster: %v", err)
	}
	if inline.NeverBlocks(h) {
		t.Error("a function of the user may block")
	}
}

// New of package controller refuses a nil handler.
func TestNilFunctionsMakeNilHandlers(t *testing.T) {
	if handler.Map[corev1.Pod, reconcile.Request](nil) != nil || handler.MapHeader[reconcile.Request](nil) != nil || handler.Func[reconcile.Request](nil) != nil {
		t.Error("a handler of no function")
	}
}

// An object whose spec has changed asks for another look at the quota of its namespace.
func ExampleFunc() {
	quotaOf := func(_ context.Context, c store.Change) ([]reconcile.Request, error) {
		if c.Old == nil || c.New == nil || c.New.Generation() <= c.Old.Generation() {
			return nil, nil
		}
		return []reconcile.Request{{Namespace: c.Key.Namespace, Name: "quota"}}, nil
	}
	entry := func(generation int64) *store.Entry {
		p := pod("shop")
		p.Generation = generation
		return testobj.Entry(p)
	}
	h := handler.Func(quotaOf) // controller.Watches[appsv1.Deployment](h)
	c := store.Change{Key: object.Key{Namespace: "web", Name: "a"}, Old: entry(1), New: entry(2)}
	h.Handle(context.Background(), c, func(r reconcile.Request) { fmt.Println(r) })
	// Output: web/quota
}
