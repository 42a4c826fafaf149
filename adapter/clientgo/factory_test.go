package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	metadataclient "k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/clientgo"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/test/servertest"
)

// A controller of client-go works with the packed factory: handlers, listers, writes, and the end.
func TestFactory(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	w := live(t)
	f := newFactory(t, clientgo.WithNamespace(ns))
	configMaps, nodes := f.Core().V1().ConfigMaps(), f.Core().V1().Nodes()
	var told story
	handle, err := configMaps.Informer().AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { told.say("add " + o.(*corev1.ConfigMap).Name) },
		UpdateFunc: func(_, o any) { told.say("update " + o.(*corev1.ConfigMap).Data["k"]) },
		DeleteFunc: func(o any) { told.say("delete " + o.(*corev1.ConfigMap).Name) },
	})
	must(t, err)
	if _, err := configMaps.Lister().ConfigMaps(ns).Get("a"); !errors.Is(err, clientgo.ErrNotStarted) {
		t.Errorf("a Get before the start: %v", err)
	}
	if all, err := configMaps.Lister().List(labels.Everything()); len(all) != 0 || err != nil {
		t.Errorf("a List before the start: %v, %v", all, err)
	}
	if err := clientgo.Readable(configMaps.Informer()); !errors.Is(err, clientgo.ErrNotStarted) {
		t.Errorf("Readable before the start: %v", err)
	}
	nodes.Informer()
	ctx := start(t, f)
	if err := f.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		t.Fatal(err)
	}
	synced(t, ctx, handle.HasSyncedChecker())
	must(t, clientgo.Readable(configMaps.Informer()))
	if got := f.WaitForCacheSync(ctx.Done()); !got[reflect.TypeFor[*corev1.ConfigMap]()] || !got[reflect.TypeFor[*corev1.Node]()] || len(got) != 2 {
		t.Errorf("synced: %v", got)
	}

	a := created(t, testobj.ConfigMap(ns+"/a", testobj.Data("k", "")))
	told.await(t, "add a")
	got, err := configMaps.Lister().ConfigMaps(ns).Get("a")
	if err != nil || got.UID != a.UID || got.Kind != "" || len(got.ManagedFields) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	got.Data = map[string]string{"k": "v"}
	updated(t, got)
	told.await(t, "update v")
	must(t, client.Delete(ctx, w, a))
	told.await(t, "delete a")
	if _, err := configMaps.Lister().ConfigMaps(ns).Get("a"); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted object: %v", err)
	}
	if _, err := configMaps.Lister().ConfigMaps("other").Get("a"); !apierrors.IsNotFound(err) {
		t.Errorf("another namespace: %v", err)
	}
	// That of reads may be behind that of the watch while the writer works.
	for in := configMaps.Informer(); ; goruntime.Gosched() {
		reads, watch := in.GetStore().LastStoreSyncResourceVersion(), in.LastSyncResourceVersion()
		if reads == "" || watch == "" || ctx.Err() != nil {
			t.Fatalf("the version of reads is %q, that of the watch %q", reads, watch)
		}
		if reads == watch {
			break
		}
	}
	if !configMaps.Informer().GetController().HasSynced() {
		t.Error("the controller has not synced")
	}
}

// Informers that are asked for later start with the next Start. The same type has one informer.
func TestLaterInformers(t *testing.T) {
	f := newFactory(t)
	first := f.Core().V1().Nodes().Informer()
	ctx := start(t, f)
	later := f.Core().V1().Namespaces()
	if packed(f.Core().V1().Namespaces().Informer()) != packed(later.Informer()) || packed(later.Informer()) == packed(first) {
		t.Error("informers are not shared by type")
	}
	synced(t, ctx, first.HasSyncedChecker())
	if later.Informer().HasSynced() || len(f.WaitForCacheSync(ctx.Done())) != 1 {
		t.Error("an informer runs that was not started")
	}
	f.Start(ctx.Done())
	f.Start(ctx.Done())
	if got := f.WaitForCacheSync(ctx.Done()); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if all, err := later.Lister().List(labels.Everything()); err != nil || len(all) < 2 {
		t.Errorf("%d namespaces, %v", len(all), err)
	}
}

// Shutdown ends a factory for good.
func TestShutdown(t *testing.T) {
	f := newFactory(t)
	in := f.Core().V1().Namespaces().Informer()
	handle, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
	must(t, err)
	ctx, cancel := context.WithCancel(bounded(t))
	f.StartWithContext(ctx)
	synced(t, ctx, in.HasSyncedChecker(), handle.HasSyncedChecker())
	if in.IsStopped() {
		t.Error("stopped while it runs")
	}
	cancel()
	f.Shutdown()
	f.Shutdown()
	if !in.IsStopped() || len(in.GetStore().List()) < 2 {
		t.Errorf("stopped: %v, %d objects are left", in.IsStopped(), len(in.GetStore().List()))
	}
	if _, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{}); err == nil || !strings.HasSuffix(err.Error(), "was not added to shared informer because it has stopped already") {
		t.Errorf("a handler after the end: %v", err)
	}
	if err := in.AddIndexers(toolscache.Indexers{"x": toolscache.MetaNamespaceIndexFunc}); err == nil {
		t.Error("an index after the end")
	}
	must(t, in.RemoveEventHandler(handle))
	must(t, toolscache.ShutDownEventHandler(in, handle))
	late := f.Core().V1().Nodes().Informer()
	f.Start(t.Context().Done())
	if packed(late).HasStarted() {
		t.Error("an informer starts after Shutdown")
	}
}

// Namespaces and selectors are those of the options, and of the closures of generated informers.
func TestSelections(t *testing.T) {
	p := servertest.Shared(t)
	ns, other := servertest.Namespace(t, p), servertest.Namespace(t, p)
	for _, in := range []string{ns, other} {
		created(t, testobj.ConfigMap(in+"/web", testobj.Labels("app=web", "tier=front")))
		created(t, testobj.ConfigMap(in+"/api", testobj.Labels("app=web", "tier=back")))
		created(t, testobj.ConfigMap(in+"/db", testobj.Labels("app=db", "tier=back")))
	}
	web := labels.SelectorFromSet(labels.Set{"app": "web"})
	tweak := func(o *metav1.ListOptions) { o.LabelSelector = "app=web" }
	named := func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=api" }
	for name, tc := range map[string]struct {
		options []clientgo.Option
		in      func(*clientgo.Factory) toolscache.SharedIndexInformer
		want    string
	}{
		"a namespace": {[]clientgo.Option{clientgo.WithNamespace(ns)}, nil, "api db web"},
		"labels":      {[]clientgo.Option{clientgo.WithNamespace(ns), clientgo.WithLabelSelector(web)}, nil, "api web"},
		"a tweak":     {[]clientgo.Option{clientgo.WithNamespace(ns), clientgo.WithTweakListOptions(tweak)}, nil, "api web"},
		"both":        {[]clientgo.Option{clientgo.WithNamespace(ns), clientgo.WithTweakListOptions(tweak), clientgo.WithTweakListOptions(named)}, nil, "api"},
		"no tweak":    {[]clientgo.Option{clientgo.WithNamespace(ns), clientgo.WithTweakListOptions(nil)}, nil, "api db web"},
		"a generated closure": {nil, func(f *clientgo.Factory) toolscache.SharedIndexInformer {
			return core.New(f, ns, tweak).V1().ConfigMaps().Informer()
		}, "api web"},
		"closures and options": {[]clientgo.Option{clientgo.WithTweakListOptions(named)}, func(f *clientgo.Factory) toolscache.SharedIndexInformer {
			return core.New(f, ns, tweak).V1().ConfigMaps().Informer()
		}, "api"},
		"a resource": {[]clientgo.Option{clientgo.WithNamespace(ns), clientgo.WithTweakListOptions(tweak)}, func(f *clientgo.Factory) toolscache.SharedIndexInformer {
			g, err := f.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps"))
			must(t, err)
			return g.Informer()
		}, "api web"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFactory(t, tc.options...)
			var in toolscache.SharedIndexInformer
			if tc.in != nil {
				in = tc.in(f)
			} else {
				in = f.Core().V1().ConfigMaps().Informer()
			}
			synced(t, start(t, f), in.HasSyncedChecker())
			var names []string
			for _, o := range in.GetStore().List() {
				if m := o.(*corev1.ConfigMap); m.Namespace != ns {
					t.Errorf("%s/%s", m.Namespace, m.Name)
				} else if m.Name != "kube-root-ca.crt" {
					names = append(names, m.Name)
				}
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// What cannot be is an error of the constructor.
func TestRefusals(t *testing.T) {
	cfg := &rest.Config{Host: "http://127.0.0.1:1"}
	_, err := clientgo.NewSharedInformerFactory(cfg, 0, clientgo.WithTweakListOptions(func(o *metav1.ListOptions) { o.Limit, o.ResourceVersion = 5, "0" }))
	if bad, ok := errors.AsType[*option.Error](err); !ok || bad.Field != "WithTweakListOptions" || !strings.Contains(err.Error(), "it sets ResourceVersion, Limit") {
		t.Errorf("a tweak that sets more: %v", err)
	}
	for name, tweak := range map[string]func(*metav1.ListOptions){
		"a bad label selector": func(o *metav1.ListOptions) { o.LabelSelector = "a in (" },
		"a bad field selector": func(o *metav1.ListOptions) { o.FieldSelector = "a" },
		"a panic":              func(o *metav1.ListOptions) { panic("no") },
	} {
		if _, err := clientgo.NewDynamicSharedInformerFactory(cfg, 0, clientgo.WithTweakListOptions(tweak)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := clientgo.NewSharedInformerFactory(nil, 0); err == nil {
		t.Error("no configuration is accepted")
	}
	if _, err := clientgo.NewSharedInformerFactory(cfg, 0, clientgo.WithScheme(nil)); err == nil {
		t.Error("no scheme is accepted")
	}
	if _, err := clientgo.NewSharedInformerFactory(&rest.Config{Host: "::"}, 0); err == nil {
		t.Error("a bad address is accepted")
	}
	if _, err := clientgo.ConfigOf(fake.NewClientset().CoreV1().RESTClient()); !errors.Is(err, clientgo.ErrNoConnection) {
		t.Errorf("a fake client: %v", err)
	}
	if _, err := clientgo.ConfigOf(nil); !errors.Is(err, clientgo.ErrNoConnection) {
		t.Errorf("no client: %v", err)
	}
	toSecret := func(any) (any, error) { return &corev1.Secret{}, nil }
	if _, err := clientgo.NewSharedIndexInformer(cfg, &corev1.Pod{}, 0, nil, clientgo.WithTransform(toSecret)); !errors.As(err, new(*clientgo.TransformTypeError)) {
		t.Errorf("a transform to another type: %v", err)
	}
	if _, err := clientgo.NewSharedIndexInformer(cfg, &metav1.PartialObjectMetadata{}, 0, nil); err == nil {
		t.Error("metadata without a kind are accepted")
	}
	if _, err := clientgo.NewSharedIndexInformer(cfg, nil, 0, nil); err == nil {
		t.Error("no example is accepted")
	}
	if _, err := clientgo.NewSharedIndexInformer(cfg, &corev1.Pod{}, 0, toolscache.Indexers{"x": nil}); err == nil {
		t.Error("an index without a function is accepted")
	}
}

// packed returns the packed informer behind one that may be wrapped; nil if there is none.
func packed(in toolscache.SharedInformer) *clientgo.Informer {
	p, _ := clientgo.From(in)
	return p
}

// foo is a type that no scheme knows.
type foo struct{ corev1.ConfigMap }

func (f *foo) DeepCopyObject() runtime.Object { c := *f; return &c }

// An informer that cannot be says so wherever there is an error to return, and nothing waits for it.
func TestInformerThatCannotRun(t *testing.T) {
	f := newFactory(t)
	ctx := bounded(t)
	other, err := clientgo.NewSharedIndexInformer(config(t), &corev1.Pod{}, 0, nil)
	must(t, err)
	for name, in := range map[string]toolscache.SharedIndexInformer{
		"a type that no scheme knows": f.InformerFor(&foo{}, func(c kubernetes.Interface, resync time.Duration) toolscache.SharedIndexInformer {
			return toolscache.NewSharedIndexInformer(toolscache.NewListWatchFromClient(c.CoreV1().RESTClient(), "foos", "", fields.Everything()), &foo{}, resync, nil)
		}),
		"no function":     f.InformerFor(&corev1.Secret{}, nil),
		"no informer":     f.InformerFor(&corev1.Pod{}, func(kubernetes.Interface, time.Duration) toolscache.SharedIndexInformer { return nil }),
		"a panic":         f.InformerFor(&corev1.Node{}, func(kubernetes.Interface, time.Duration) toolscache.SharedIndexInformer { panic("no") }),
		"another adapter": f.InformerFor(&corev1.Service{}, func(kubernetes.Interface, time.Duration) toolscache.SharedIndexInformer { return other }),
		"the wrong version": f.InformerFor(&corev1.Event{}, func(c kubernetes.Interface, resync time.Duration) toolscache.SharedIndexInformer {
			return informers.NewSharedInformerFactory(c, resync).Events().V1().Events().Informer()
		}),
	} {
		if _, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{}); err == nil || clientgo.Readable(in) == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.StartWithContext(ctx)
	if r := f.WaitForCacheSyncWithContext(ctx); ctx.Err() != nil || r.AsError() == nil || !strings.Contains(r.AsError().Error(), "WithScheme") {
		t.Errorf("%v", r.AsError())
	}
	f.Shutdown() // nothing runs
	if _, err := f.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "foos"}); err == nil {
		t.Error("a resource that no scheme knows")
	}
	if _, err := f.ForResource(corev1.SchemeGroupVersion.WithResource("bindings")); err == nil {
		t.Error("a resource without a list")
	}
}

// A factory of another clientset, as informer-gen makes it. Its function takes another type of client.
type otherFunc func(dynamic.Interface, time.Duration) toolscache.SharedIndexInformer

// Of gives generated informers of another clientset, which share the factory.
func TestOf(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	ctx := bounded(t)
	f := newFactory(t)
	of, err := clientgo.Of[otherFunc](f, dynamic.NewForConfig)
	must(t, err)
	in := of.InformerFor(&corev1.ConfigMap{}, func(c dynamic.Interface, resync time.Duration) toolscache.SharedIndexInformer {
		return dynamicinformer.NewFilteredDynamicInformer(c, corev1.SchemeGroupVersion.WithResource("configmaps"), ns, resync, toolscache.Indexers{
			"name": func(o any) ([]string, error) { return []string{o.(metav1.Object).GetName()}, nil },
		}, func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=a" }).Informer()
	})
	created(t, testobj.ConfigMap(ns+"/a"))
	created(t, testobj.ConfigMap(ns+"/b"))
	start(t, of)
	synced(t, ctx, in.HasSyncedChecker())
	if got, err := in.GetIndexer().ByIndex("name", "a"); err != nil || len(got) != 1 || got[0].(*corev1.ConfigMap).Namespace != ns {
		t.Errorf("%v, %v", got, err)
	}
	if got := in.GetStore().ListKeys(); !slices.Equal(got, []string{ns + "/a"}) {
		t.Errorf("keys %v", got)
	}
	if packed(f.Core().V1().ConfigMaps().Informer()) != in {
		t.Error("the informers are not shared")
	}
	if _, err := clientgo.Of[internalinterfaces.NewInformerFunc](f, dynamic.NewForConfig); err == nil {
		t.Error("a client of another type is accepted")
	}
	if in := of.InformerFor(&corev1.Pod{}, nil); clientgo.Readable(in) == nil {
		t.Error("no function is accepted")
	}
}

// The packed cache reads through the client of a clientset, too.
func TestConfigOfAClient(t *testing.T) {
	cfg, err := clientgo.ConfigOf(stock(t).AppsV1().RESTClient())
	must(t, err)
	in, err := clientgo.NewSharedIndexInformer(cfg, &corev1.Namespace{}, 0, nil)
	must(t, err)
	ctx, cancel := context.WithCancel(bounded(t))
	done := make(chan struct{})
	go func() { defer close(done); in.RunWithContext(ctx) }()
	synced(t, ctx, in)
	if got, ok, err := in.GetStore().GetByKey("default"); !ok || err != nil || got.(*corev1.Namespace).Name != "default" {
		t.Errorf("%v, %v, %v", got, ok, err)
	}
	in.RunWithContext(ctx) // it runs once
	cancel()
	<-done
}

// Dynamic and metadata factories show what those of client-go show.
func TestResourceFactories(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	created(t, testobj.ConfigMap(ns+"/a", testobj.Data("k", "v"), testobj.Labels("app=web")))
	created(t, testobj.ConfigMap(ns+"/b", testobj.Data("k", "v")))
	tweak := func(o *metav1.ListOptions) { o.LabelSelector = "app=web" }
	dyn, err := dynamic.NewForConfig(config(t))
	must(t, err)
	mc, err := metadataclient.NewForConfig(config(t))
	must(t, err)
	dynamicFactory, err := clientgo.NewFilteredDynamicSharedInformerFactory(config(t), 0, ns, tweak)
	must(t, err)
	packedMeta, err := clientgo.NewFilteredMetadataSharedInformerFactory(config(t), 0, ns, tweak)
	must(t, err)
	gvr := corev1.SchemeGroupVersion.WithResource("configmaps")
	type factory interface {
		starter
		ForResource(schema.GroupVersionResource) informers.GenericInformer
		WaitForCacheSync(<-chan struct{}) map[schema.GroupVersionResource]bool
	}
	for name, pair := range map[string][2]factory{
		"dynamic":  {dynamicinformer.NewFilteredDynamicSharedInformerFactory(dyn, 0, ns, tweak), dynamicFactory},
		"metadata": {metadatainformer.NewFilteredSharedInformerFactory(mc, 0, ns, tweak), packedMeta},
	} {
		t.Run(name, func(t *testing.T) {
			var lists [2][]runtime.Object
			var got [2]runtime.Object
			for i, f := range pair {
				g := f.ForResource(gvr)
				if f.ForResource(gvr).Informer() != g.Informer() {
					t.Error("informers are not shared")
				}
				ctx := start(t, f)
				if !f.WaitForCacheSync(ctx.Done())[gvr] {
					t.Fatal("not synced")
				}
				var err error
				lists[i], err = g.Lister().List(labels.Everything())
				must(t, err)
				got[i], err = g.Lister().ByNamespace(ns).Get("a")
				must(t, err)
				if _, err := g.Lister().ByNamespace(ns).Get("b"); !apierrors.IsNotFound(err) {
					t.Error(err)
				}
			}
			if diff := cmp.Diff(lists[0], lists[1]); diff != "" || len(lists[0]) != 1 {
				t.Errorf("lists of %d: %s", len(lists[0]), diff)
			}
			if diff := cmp.Diff(got[0], got[1]); diff != "" {
				t.Errorf("objects differ: %s", diff)
			}
		})
	}
}

// A resource that is defined later is watched as soon as the server serves it.
func TestResourceThatComesLater(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	f, err := clientgo.NewDynamicSharedInformerFactory(config(t), 0, clientgo.WithNamespace(ns))
	must(t, err)
	gvk := schema.GroupVersionKind{Group: "clientgo.flyball.io", Version: "v1", Kind: "Late"}
	g := f.ForResource(gvk.GroupVersion().WithResource("lates"))
	told := make(chan error, 1000)
	must(t, g.Informer().SetWatchErrorHandler(func(r *toolscache.Reflector, err error) {
		if r.Name() == "" {
			t.Error("the reflector has no name")
		}
		told <- err
	}))
	ctx := start(t, f)
	select {
	case err := <-told:
		if !meta.IsNoMatchError(err) {
			t.Errorf("told of %v", err)
		}
	case <-ctx.Done():
		t.Fatal("not told of a resource that does not exist")
	}
	if g.Informer().HasSynced() || clientgo.Readable(g.Informer()) == nil {
		t.Error("synced without a resource")
	}
	livetest.Define(t, live(t), testobj.CRD(gvk, "lates"))
	synced(t, ctx, g.Informer().HasSyncedChecker())
	if err := g.Informer().SetWatchErrorHandler(nil); !errors.Is(err, clientgo.ErrStarted) {
		t.Errorf("a late handler of errors: %v", err)
	}
}

// With a mapper nothing asks the server what a kind is, which a role may forbid.
func TestMapper(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	created(t, testobj.ConfigMap(ns+"/only"))
	configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
	m := meta.NewDefaultRESTMapper(nil)
	m.AddSpecific(corev1.SchemeGroupVersion.WithKind("ConfigMap"), configMaps, configMaps, meta.RESTScopeNamespace)

	cfg := rest.CopyConfig(config(t))
	var asked atomic.Pointer[string]
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/configmaps") {
				asked.Store(&r.URL.Path)
			}
			return next.RoundTrip(r)
		})
	})
	with := []clientgo.Option{clientgo.WithNamespace(ns), clientgo.With(clientgo.Options{Mapper: m})}
	f, err := clientgo.NewSharedInformerFactory(cfg, 0, with...)
	must(t, err)
	dynamic, err := clientgo.NewDynamicSharedInformerFactory(cfg, 0, with...)
	must(t, err)
	in, untyped := f.Core().V1().ConfigMaps().Informer(), dynamic.ForResource(configMaps).Informer()
	synced(t, start(t, f), in.HasSyncedChecker())
	synced(t, start(t, dynamic), untyped.HasSyncedChecker())
	for _, in := range []toolscache.SharedIndexInformer{in, untyped} {
		if keys := in.GetStore().ListKeys(); !slices.Contains(keys, ns+"/only") {
			t.Errorf("%v", keys)
		}
	}
	if path := asked.Load(); path != nil {
		t.Errorf("the server was asked for %s", *path)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Every generated informer and lister of client-go shows what client-go shows, for each resource that the server has.
func TestGeneratedListers(t *testing.T) {
	c := stock(t)
	_, served, err := c.Discovery().ServerGroupsAndResources()
	must(t, err)
	f, peer := newFactory(t), informers.NewSharedInformerFactory(c, 0)
	type pair struct{ packed, stock informers.GenericInformer }
	all := map[schema.GroupVersionResource]pair{}
	for _, list := range served {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		must(t, err)
		for _, r := range list.APIResources {
			gvr := gv.WithResource(r.Name)
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "watch") {
				continue
			}
			is, err := f.ForResource(gvr)
			was, missing := peer.ForResource(gvr)
			if (err == nil) != (missing == nil) {
				t.Errorf("%v: client-go: %v, packed: %v", gvr, missing, err)
			}
			if err == nil && missing == nil && gvr.Resource != "events" && gvr.Resource != "leases" { // those change all the time
				all[gvr] = pair{is, was}
			}
		}
	}
	ctx := start(t, f)
	start(t, peer)
	if err := f.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		t.Fatal(err)
	}
	peer.WaitForCacheSync(ctx.Done())
	objects := 0
	for gvr, p := range all {
		for _, selector := range []labels.Selector{labels.Everything(), labels.Nothing(), labels.SelectorFromSet(labels.Set{"kubernetes.io/bootstrapping": "rbac-defaults"})} {
			var lists [2][]runtime.Object
			for i, g := range []informers.GenericInformer{p.stock, p.packed} {
				var err error
				lists[i], err = g.Lister().List(selector)
				must(t, err)
				slices.SortFunc(lists[i], func(a, b runtime.Object) int { return strings.Compare(name(a), name(b)) })
			}
			if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
				t.Errorf("%v: %s", gvr, diff)
			}
			objects += len(lists[0])
			for _, o := range lists[0] {
				m := o.(metav1.Object)
				lister := func(g informers.GenericInformer) interface {
					Get(string) (runtime.Object, error)
				} {
					if m.GetNamespace() != "" {
						return g.Lister().ByNamespace(m.GetNamespace())
					}
					return g.Lister()
				}
				got, err := lister(p.packed).Get(m.GetName())
				if diff := cmp.Diff(o, got); diff != "" || err != nil {
					t.Errorf("%v %s: %v, %s", gvr, name(o), err, diff)
				}
			}
		}
		_, was := p.stock.Lister().ByNamespace("nowhere").Get("nothing")
		if _, is := p.packed.Lister().ByNamespace("nowhere").Get("nothing"); fmt.Sprint(was) != fmt.Sprint(is) || !apierrors.IsNotFound(is) {
			t.Errorf("%v: %v, want %v", gvr, is, was)
		}
	}
	t.Logf("%d resources, %d objects", len(all), objects)
	if len(all) < 40 || objects < 100 {
		t.Errorf("only %d resources and %d objects", len(all), objects)
	}
}

func name(o runtime.Object) string {
	m := o.(metav1.Object)
	return m.GetNamespace() + "/" + m.GetName()
}

// Metrics are where an option says, while informers run.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	f := newFactory(t, clientgo.With(clientgo.Options{Metrics: registry}))
	in := f.Core().V1().Namespaces().Informer()
	synced(t, start(t, f), in.HasSyncedChecker())
	families, err := registry.Gather()
	must(t, err)
	var names []string
	for _, m := range families {
		names = append(names, m.GetName())
	}
	if !slices.Contains(names, "flyball_cache_objects") {
		t.Errorf("no metrics of the cache: %q", names)
	}
	if w := f.Watches(); len(w) != 1 || w[0].Kind.GVK.Kind != "Namespace" || w[0].Figures.Store.Objects < 2 {
		t.Errorf("%+v", w)
	}
}
