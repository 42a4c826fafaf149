package ctrlcache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/servertest"
)

// newCache returns a cache that runs until the end of the test.
func newCache(t *testing.T, opts crcache.Options, more ctrlcache.Options) *ctrlcache.Cache {
	t.Helper()
	c, err := more.New(config(t), opts)
	must(t, err)
	run(t, c.Start)
	if !c.WaitForCacheSync(bounded(t)) {
		t.Fatal("not synced")
	}
	return c.(*ctrlcache.Cache)
}

var podKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func names(list []corev1.ConfigMap) string {
	var all []string
	for i := range list {
		all = append(all, list[i].Name)
	}
	return strings.Join(all, " ")
}

// A kind that has no list is an error at once, as from the default cache: nothing waits for a list of it.
func TestReadsOfAKindWithoutAList(t *testing.T) {
	stock, err := crcache.New(config(t), crcache.Options{})
	must(t, err)
	run(t, stock.Start)
	for name, c := range map[string]crcache.Cache{"default": stock, "packed": newCache(t, crcache.Options{}, ctrlcache.Options{})} {
		ctx := bounded(t)
		if err := c.Get(ctx, crclient.ObjectKey{Namespace: "default", Name: "a"}, &corev1.Binding{}); !runtime.IsNotRegisteredError(err) {
			t.Errorf("%s: Get: %v", name, err)
		}
		if _, err := c.GetInformer(ctx, &corev1.Binding{}); !runtime.IsNotRegisteredError(err) {
			t.Errorf("%s: GetInformer: %v", name, err)
		}
		if !c.WaitForCacheSync(ctx) {
			t.Errorf("%s: a watch stays, and cannot sync", name)
		}
	}
}

// A function that only names informers for metrics does not keep a program from this cache, if the program says so.
func TestNewInformer(t *testing.T) {
	opts := crcache.Options{NewInformer: func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
		t.Error("NewInformer was called")
		return nil
	}}
	_, err := ctrlcache.New(config(t), opts)
	if bad, ok := errors.AsType[*option.Error](err); !ok || bad.Field != "NewInformer" || !strings.Contains(err.Error(), "IgnoreNewInformer") {
		t.Errorf("%v", err)
	}
	c := newCache(t, opts, ctrlcache.Options{IgnoreNewInformer: true})
	must(t, c.Get(bounded(t), crclient.ObjectKey{Name: "default"}, &corev1.Namespace{}))
}

// Typed, unstructured and metadata-only objects are read as from the default cache, the TypeMeta included.
func TestReadsOfEachForm(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	ctx := bounded(t)
	key := crclient.ObjectKey{Namespace: ns, Name: "a"}
	must(t, live(t).Create(ctx, testobj.ConfigMap(ns+"/a", testobj.Labels("app=web"), testobj.Data("k", "v"))))
	c := newCache(t, crcache.Options{}, ctrlcache.Options{})

	var cm corev1.ConfigMap
	must(t, c.Get(ctx, key, &cm))
	if cm.Data["k"] != "v" || cm.GroupVersionKind() != podKind || len(cm.ManagedFields) == 0 {
		t.Errorf("typed: %+v", cm)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(podKind)
	must(t, c.Get(ctx, key, u))
	if v, _, _ := unstructured.NestedString(u.Object, "data", "k"); v != "v" || u.GroupVersionKind() != podKind {
		t.Errorf("unstructured: %+v", u.Object)
	}
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(podKind)
	must(t, c.Get(ctx, key, m))
	if m.Labels["app"] != "web" || m.GroupVersionKind() != podKind {
		t.Errorf("metadata: %+v", m)
	}
	plain := true
	must(t, c.Get(ctx, key, &cm, &crclient.GetOptions{UnsafeDisableDeepCopy: &plain}))
	if cm.Kind != "" {
		t.Errorf("unsafe: kind %q", cm.Kind)
	}

	var maps corev1.ConfigMapList
	must(t, c.List(ctx, &maps, crclient.InNamespace(ns), crclient.MatchingLabels{"app": "web"}))
	ulist, mlist := &unstructured.UnstructuredList{}, &metav1.PartialObjectMetadataList{}
	ulist.SetGroupVersionKind(podKind.GroupVersion().WithKind("ConfigMapList"))
	mlist.SetGroupVersionKind(podKind.GroupVersion().WithKind("ConfigMapList"))
	must(t, c.List(ctx, ulist, crclient.InNamespace(ns), crclient.MatchingLabels{"app": "web"}))
	must(t, c.List(ctx, mlist, crclient.InNamespace(ns), crclient.MatchingLabels{"app": "web"}))
	if len(maps.Items) != 1 || len(ulist.Items) != 1 || len(mlist.Items) != 1 || maps.Items[0].Kind != "ConfigMap" {
		t.Errorf("%d, %d, %d items", len(maps.Items), len(ulist.Items), len(mlist.Items))
	}
	err := c.Get(ctx, crclient.ObjectKey{Namespace: ns, Name: "none"}, &cm)
	if status, ok := errors.AsType[*apierrors.StatusError](err); !ok || !apierrors.IsNotFound(err) || status.Status().Details.Kind != "ConfigMap" {
		t.Errorf("no object: %v", err)
	}
	h, err := c.Header(ctx, key, &cm)
	if err != nil || h.Labels["app"] != "web" {
		t.Errorf("header: %+v, %v", h, err)
	}
	var view struct{ Data map[string]string }
	if err := c.Project(ctx, key, &cm, &view); err != nil || view.Data["k"] != "v" {
		t.Errorf("view: %+v, %v", view, err)
	}
	if len(c.Watches()) != 3 {
		t.Errorf("%d watches", len(c.Watches()))
	}
}

func TestListOptions(t *testing.T) {
	ns, other := servertest.Namespace(t, servertest.Shared(t)), servertest.Namespace(t, servertest.Shared(t))
	ctx := bounded(t)
	for i := range 40 {
		for _, in := range []string{ns, other} {
			must(t, live(t).Create(ctx, testobj.ConfigMap(fmt.Sprintf("%s/c%02d", in, i), testobj.Labels(fmt.Sprint("odd=", i%2)),
				testobj.Data("size", fmt.Sprint(i%4)), testobj.Data("color", []string{"red", "blue"}[i/20]))))
		}
	}
	c := newCache(t, crcache.Options{}, ctrlcache.Options{})
	for _, field := range []string{"size", "color"} {
		must(t, c.IndexField(ctx, &corev1.ConfigMap{}, field, func(o crclient.Object) []string {
			if o.GetObjectKind().GroupVersionKind().Kind != "" {
				t.Error("an index function got a TypeMeta")
			}
			return []string{o.(*corev1.ConfigMap).Data[field]}
		}))
	}
	for _, tc := range []struct {
		name string
		opts []crclient.ListOption
		want int
	}{
		{"namespace", []crclient.ListOption{crclient.InNamespace(ns), crclient.HasLabels{"odd"}}, 40},
		{"labels", []crclient.ListOption{crclient.InNamespace(ns), crclient.MatchingLabels{"odd": "1"}}, 20},
		{"field", []crclient.ListOption{crclient.InNamespace(ns), crclient.MatchingFields{"size": "3"}}, 10},
		{"field of all namespaces", []crclient.ListOption{crclient.MatchingFields{"size": "3"}}, 20},
		{"fields", []crclient.ListOption{crclient.InNamespace(ns), crclient.MatchingFields{"size": "3", "color": "red"}}, 5},
		{"field and labels", []crclient.ListOption{crclient.InNamespace(ns), crclient.MatchingFields{"size": "3"}, crclient.MatchingLabels{"odd": "0"}}, 0},
		{"limit", []crclient.ListOption{crclient.InNamespace(ns), crclient.Limit(7)}, 7},
		{"a namespace without objects", []crclient.ListOption{crclient.InNamespace("nowhere")}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var list corev1.ConfigMapList
			must(t, c.List(ctx, &list, tc.opts...))
			if len(list.Items) != tc.want || list.Items == nil || list.Continue != "continue-not-supported" {
				t.Errorf("%d items, want %d; continue %q", len(list.Items), tc.want, list.Continue)
			}
			n := 0
			for _, err := range c.Headers(ctx, &list, tc.opts...) {
				must(t, err)
				n++
			}
			if n != tc.want {
				t.Errorf("%d headers, want %d", n, tc.want)
			}
		})
	}
	for name, opt := range map[string]crclient.ListOption{
		"an index does not exist": crclient.MatchingFields{"shape": "round"},
		"non-exact":               crclient.MatchingFieldsSelector{Selector: fields.ParseSelectorOrDie("size!=3")},
		"continue":                crclient.Continue("x"),
	} {
		if err := c.List(ctx, &corev1.ConfigMapList{}, opt); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.IndexField(ctx, &corev1.ConfigMap{}, "size", func(crclient.Object) []string { return nil }); !errors.As(err, new(*store.IndexExistsError)) {
		t.Errorf("a second index: %v", err)
	}
}

// No index has an object on which an index function panics. So it may belong into any list by an index.
func TestIndexFunctionThatPanics(t *testing.T) {
	ns, other := servertest.Namespace(t, servertest.Shared(t)), servertest.Namespace(t, servertest.Shared(t))
	ctx := bounded(t)
	for _, key := range []string{ns + "/a", ns + "/bad", other + "/a"} {
		must(t, live(t).Create(ctx, testobj.ConfigMap(key, testobj.Labels("name="+key[strings.IndexByte(key, '/')+1:]))))
	}
	c := newCache(t, crcache.Options{}, ctrlcache.Options{})
	for _, field := range []string{"picky", "any"} {
		must(t, c.IndexField(ctx, &corev1.ConfigMap{}, field, func(o crclient.Object) []string {
			if field == "picky" && o.GetName() == "bad" {
				panic("bad")
			}
			return []string{"x"}
		}))
	}
	for _, tc := range []struct {
		opts []crclient.ListOption
		want string // "": an error
	}{
		{[]crclient.ListOption{crclient.MatchingFields{"picky": "x"}}, ""},
		{[]crclient.ListOption{crclient.MatchingFields{"picky": "y"}}, ""},
		{[]crclient.ListOption{crclient.MatchingFields{"any": "x"}, crclient.InNamespace(ns)}, ""},
		{[]crclient.ListOption{crclient.MatchingFields{"any": "x"}, crclient.InNamespace(other), crclient.HasLabels{"name"}}, "a"},
		{[]crclient.ListOption{crclient.MatchingFields{"any": "x"}, crclient.InNamespace(ns), crclient.MatchingLabels{"name": "a"}}, "a"},
	} {
		var list corev1.ConfigMapList
		err := c.List(ctx, &list, tc.opts...)
		var headers []string
		var headersErr error
		for h, err := range c.Headers(ctx, &list, tc.opts...) {
			if err != nil {
				headersErr = err
				continue
			}
			headers = append(headers, h.Key.Name)
		}
		if tc.want == "" {
			if len(list.Items) != len(headers) {
				t.Errorf("%v: %d objects beside the error, %d headers", tc.opts, len(list.Items), len(headers))
			}
			for _, err := range []error{err, headersErr} {
				if rejected, ok := errors.AsType[*store.RejectedError](err); !ok || rejected.Key.Name != "bad" {
					t.Errorf("%v: %v, want a rejected object", tc.opts, err)
				}
			}
		} else if err := errors.Join(err, headersErr); err != nil || names(list.Items) != tc.want || strings.Join(headers, " ") != tc.want {
			t.Errorf("%v: %s, headers %s, %v; want %s", tc.opts, names(list.Items), headers, err, tc.want)
		}
	}
}

func TestCacheStates(t *testing.T) {
	ctx := bounded(t)
	c, err := ctrlcache.New(config(t), crcache.Options{ReaderFailOnMissingInformer: true})
	must(t, err)
	missing := &crcache.ErrResourceNotCached{}
	if err := c.Get(ctx, crclient.ObjectKey{Name: "a"}, &corev1.Node{}); !errors.As(err, &missing) || missing.GVK.Kind != "Node" {
		t.Errorf("a kind that nobody opened: %v", err)
	}
	if _, err := c.GetInformer(ctx, &corev1.Node{}); err != nil { // it does not wait for a cache that does not run
		t.Fatal(err)
	}
	if err := c.List(ctx, &corev1.NodeList{}); !errors.As(err, new(*crcache.ErrCacheNotStarted)) {
		t.Errorf("before the start: %v", err)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if c.WaitForCacheSync(short) {
		t.Error("synced before the start")
	}
	run(t, c.Start)
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("not synced")
	}
	must(t, c.List(ctx, &corev1.NodeList{}))
	if err := c.Start(ctx); err == nil || !strings.Contains(err.Error(), "already started") {
		t.Errorf("a second start: %v", err)
	}
	in, err := c.GetInformerForKind(ctx, corev1.SchemeGroupVersion.WithKind("Node"))
	must(t, err)
	must(t, c.RemoveInformer(ctx, &corev1.Node{}))
	if !in.IsStopped() {
		t.Error("a removed informer runs")
	}
	if err := c.List(ctx, &corev1.NodeList{}); !errors.As(err, &missing) {
		t.Errorf("after the removal: %v", err)
	}
	if _, err := c.GetInformer(ctx, &Widget{}); err == nil || !runtime.IsNotRegisteredError(err) {
		t.Errorf("a type that no scheme knows: %v", err)
	}
}

// Each namespace has its own selectors. Others are an error, not an empty answer.
func TestScopes(t *testing.T) {
	ns, other, third := servertest.Namespace(t, servertest.Shared(t)), servertest.Namespace(t, servertest.Shared(t)), servertest.Namespace(t, servertest.Shared(t))
	ctx := bounded(t)
	for _, in := range []string{ns, other, third} {
		must(t, live(t).Create(ctx, testobj.ConfigMap(in+"/web", testobj.Labels("app=web"))))
		must(t, live(t).Create(ctx, testobj.ConfigMap(in+"/db", testobj.Labels("app=db"))))
	}
	web := labels.SelectorFromSet(labels.Set{"app": "web"})
	list := func(c *ctrlcache.Cache, in string) (string, error) {
		var maps corev1.ConfigMapList
		err := c.List(ctx, &maps, crclient.InNamespace(in), crclient.HasLabels{"app"})
		return names(maps.Items), err
	}
	two := newCache(t, crcache.Options{DefaultNamespaces: map[string]crcache.Config{ns: {}, other: {LabelSelector: web}}}, ctrlcache.Options{})
	for in, want := range map[string]string{ns: "db web", other: "web"} {
		if got, err := list(two, in); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", in, got, err, want)
		}
	}
	if got, err := list(two, ""); len(strings.Fields(got)) != 3 || err != nil {
		t.Errorf("all: %q, %v", got, err)
	}
	if _, err := list(two, third); err == nil || !strings.Contains(err.Error(), "unknown namespace") {
		t.Errorf("a namespace that is not held: %v", err)
	}
	if err := two.Get(ctx, crclient.ObjectKey{Namespace: third, Name: "web"}, &corev1.ConfigMap{}); err == nil || !strings.Contains(err.Error(), "unknown namespace") {
		t.Errorf("a namespace that is not held: %v", err)
	}
	must(t, two.List(ctx, &corev1.NodeList{})) // not namespaced
	rest := newCache(t, crcache.Options{ByObject: map[crclient.Object]crcache.ByObject{
		&corev1.ConfigMap{}: {Namespaces: map[string]crcache.Config{ns: {LabelSelector: web}, "": {}}},
	}}, ctrlcache.Options{})
	for in, want := range map[string]string{ns: "web", other: "db web", third: "db web"} {
		if got, err := list(rest, in); got != want || err != nil {
			t.Errorf("%s beside the rest: %q, %v, want %q", in, got, err, want)
		}
	}
	field := newCache(t, crcache.Options{ByObject: map[crclient.Object]crcache.ByObject{
		&corev1.ConfigMap{}: {Field: fields.OneTermEqualSelector("metadata.namespace", ns)},
	}}, ctrlcache.Options{})
	if got, err := list(field, other); got != "" || err != nil {
		t.Errorf("a namespace that a field selector leaves out: %q, %v", got, err)
	}
	if err := field.Get(ctx, crclient.ObjectKey{Namespace: other, Name: "web"}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object that a field selector leaves out: %v", err)
	}
}

// A list of all namespaces is in the order of keys, also if some of them have watches of their own.
func TestListOfNamedAndOtherNamespacesIsInOrder(t *testing.T) {
	p, ctx := servertest.Shared(t), bounded(t)
	all := []string{servertest.Namespace(t, p), servertest.Namespace(t, p), servertest.Namespace(t, p), servertest.Namespace(t, p)}
	slices.Sort(all)
	var want []string
	for _, in := range all {
		for _, name := range []string{"a", "b"} {
			must(t, live(t).Create(ctx, testobj.ConfigMap(in+"/"+name, testobj.Labels("test="+all[0]))))
			want = append(want, in+"/"+name)
		}
	}
	c := newCache(t, crcache.Options{DefaultNamespaces: map[string]crcache.Config{all[1]: {}, all[2]: {}, "": {}}}, ctrlcache.Options{})
	for limit, want := range map[int64][]string{0: want, 1: want[:1], 3: want[:3], 7: want[:7]} {
		var list corev1.ConfigMapList
		must(t, c.List(ctx, &list, crclient.MatchingLabels{"test": all[0]}, crclient.Limit(limit)))
		var got []string
		for _, m := range list.Items {
			got = append(got, m.Namespace+"/"+m.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
}

// A List by an index that is being built waits for it.
func TestListWaitsForItsIndex(t *testing.T) {
	ns, ctx := servertest.Namespace(t, servertest.Shared(t)), bounded(t)
	must(t, live(t).Create(ctx, testobj.ConfigMap(ns+"/a", testobj.Data("size", "3"))))
	c := newCache(t, crcache.Options{DefaultNamespaces: map[string]crcache.Config{ns: {}}}, ctrlcache.Options{})
	var list corev1.ConfigMapList
	must(t, c.List(ctx, &list))
	begun, release, added := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		added <- c.IndexField(ctx, &corev1.ConfigMap{}, "size", func(o crclient.Object) []string {
			if o.GetName() == "a" {
				close(begun)
				<-release
			}
			return []string{o.(*corev1.ConfigMap).Data["size"]}
		})
	}()
	<-begun
	over, cancel := context.WithDeadline(ctx, time.Now())
	defer cancel()
	err := c.List(over, &list, crclient.MatchingFields{"size": "3"})
	if !errors.As(err, new(*store.IndexPendingError)) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a list that cannot wait: %v", err)
	}
	close(release)
	if err := c.List(ctx, &list, crclient.MatchingFields{"size": "3"}); err != nil || names(list.Items) != "a" {
		t.Errorf("%q, %v", names(list.Items), err)
	}
	must(t, <-added)
}

// A transform changes typed, unstructured and metadata objects before they are stored. managedFields are cut if
// an option or a transform says so.
func TestTransformsOfEachForm(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	ctx := bounded(t)
	key := crclient.ObjectKey{Namespace: ns, Name: "a"}
	must(t, live(t).Create(ctx, testobj.ConfigMap(ns+"/a", testobj.Data("k", "v"))))
	mark := func(o any) (any, error) {
		o.(crclient.Object).SetAnnotations(map[string]string{"type": fmt.Sprintf("%T", o)})
		return o, nil
	}
	c := newCache(t, crcache.Options{DefaultTransform: mark}, ctrlcache.Options{CutManagedFields: true})
	u, m := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	u.SetGroupVersionKind(podKind)
	m.SetGroupVersionKind(podKind)
	for want, o := range map[string]crclient.Object{"*v1.ConfigMap": &corev1.ConfigMap{}, "*unstructured.Unstructured": u, "*v1.PartialObjectMetadata": m} {
		must(t, c.Get(ctx, key, o))
		if got := o.GetAnnotations()["type"]; got != want || len(o.GetManagedFields()) > 0 {
			t.Errorf("the transform got a %s, want a %s; %d managedFields", got, want, len(o.GetManagedFields()))
		}
	}
	strip := newCache(t, crcache.Options{DefaultTransform: crcache.TransformStripManagedFields()}, ctrlcache.Options{})
	var cm corev1.ConfigMap
	if must(t, strip.Get(ctx, key, &cm)); len(cm.ManagedFields) > 0 || cm.Data["k"] != "v" {
		t.Errorf("stripped: %+v", cm)
	}
	other := func(any) (any, error) { return &corev1.Secret{}, nil }
	_, err := ctrlcache.New(config(t), crcache.Options{ByObject: map[crclient.Object]crcache.ByObject{&corev1.ConfigMap{}: {Transform: other}}})
	if !errors.As(err, new(*ctrlcache.TransformTypeError)) {
		t.Errorf("a transform to another type: %v", err)
	}
	wrong := newCache(t, crcache.Options{DefaultTransform: other}, ctrlcache.Options{})
	if _, err := wrong.GetInformer(ctx, &cm); !errors.As(err, new(*ctrlcache.TransformTypeError)) {
		t.Errorf("a default transform to another type: %v", err)
	}
}

// A transform may read the cache, also while its informer is made, and may leave out the identity.
func TestTransformThatReadsTheCache(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	ctx := bounded(t)
	must(t, live(t).Create(ctx, testobj.ConfigMap(ns+"/a", testobj.Data("k", "v"))))
	var c crcache.Cache
	c = newCache(t, crcache.Options{
		DefaultNamespaces: map[string]crcache.Config{ns: {}},
		ByObject:          map[crclient.Object]crcache.ByObject{&corev1.Namespace{}: {Transform: func(o any) (any, error) { return o, nil }}},
		DefaultTransform: func(o any) (any, error) {
			m := o.(*corev1.ConfigMap)
			var of corev1.Namespace
			if err := c.Get(ctx, crclient.ObjectKey{Name: ns}, &of); err != nil {
				return nil, err
			}
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Labels: map[string]string{"of": of.Name}}}, nil
		},
	}, ctrlcache.Options{})
	var m corev1.ConfigMap
	if must(t, c.Get(ctx, crclient.ObjectKey{Namespace: ns, Name: "a"}, &m)); m.Labels["of"] != ns || m.UID == "" || m.ResourceVersion == "" || len(m.Data) > 0 {
		t.Errorf("%+v", m)
	}
}

// A kind without namespaces has nothing in one.
func TestListOfAClusterScopedKindInANamespace(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	c := newCache(t, crcache.Options{}, ctrlcache.Options{})
	var all, in corev1.NamespaceList
	must(t, c.List(bounded(t), &all))
	if must(t, c.List(bounded(t), &in, crclient.InNamespace(ns))); len(in.Items) > 0 || len(all.Items) == 0 {
		t.Errorf("%d of %d", len(in.Items), len(all.Items))
	}
}

// Widget is a kind whose objects the server does not check.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size int `json:"size"`
	} `json:"spec"`
}

// WidgetList is a list of Widgets.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Widget `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// DeepCopyObject implements runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = append([]Widget(nil), l.Items...)
	return &c
}

var widgetGroup = schema.GroupVersion{Group: "ctrlcache.flyball.io", Version: "v1"}

// A list with an object that cannot be decoded has all others, and its error names that one.
func TestListsReportRejectedObjects(t *testing.T) {
	p := servertest.Shared(t)
	ns, ctx := servertest.Namespace(t, p), bounded(t)
	gvk := widgetGroup.WithKind("Widget")
	livetest.Define(t, livetest.Client(t, p, client.Options{}), testobj.CRD(gvk, "widgets"))
	for name, size := range map[string]any{"a": int64(1), "b": "large", "c": int64(3)} {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size}}}
		u.SetGroupVersionKind(gvk)
		u.SetNamespace(ns)
		u.SetName(name)
		must(t, live(t).Create(ctx, u))
	}
	s := runtime.NewScheme()
	s.AddKnownTypes(widgetGroup, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(s, widgetGroup)
	c := newCache(t, crcache.Options{Scheme: s, DefaultNamespaces: map[string]crcache.Config{ns: {}}}, ctrlcache.Options{})
	var list WidgetList
	err := c.List(ctx, &list)
	bad, ok := errors.AsType[*ctrlcache.ListError](err)
	if !ok || len(bad.Rejected) != 1 || !strings.Contains(err.Error(), ns+"/b") {
		t.Errorf("the error is %v", err)
	}
	if len(list.Items) != 2 || list.Items[0].Spec.Size != 1 || list.Items[1].Spec.Size != 3 {
		t.Errorf("the list has %+v", list.Items)
	}
	if err := c.Get(ctx, crclient.ObjectKey{Namespace: ns, Name: "b"}, &Widget{}); !errors.As(err, new(*store.RejectedError)) {
		t.Errorf("the object itself: %v", err)
	}
	u := &unstructured.UnstructuredList{}
	u.SetGroupVersionKind(widgetGroup.WithKind("WidgetList"))
	if err := c.List(ctx, u); err != nil || len(u.Items) != 3 {
		t.Errorf("unstructured: %d, %v", len(u.Items), err)
	}
}
