package ctrl_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball"
	flyctrl "github.com/flyball-io/flyball/adapter/ctrl"
	flyclient "github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/leader"
)

var configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func untyped(namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(configMaps)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func partial(namespace, name string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	m.SetGroupVersionKind(configMaps)
	return m
}

// readers returns a client whose reads the server answers, and one whose reads the cache answers.
func readers(t *testing.T) map[string]client.WithWatch {
	fromServer := flyctrl.NewClient(newManager(t))
	mgr := newManager(t)
	handle, err := mgr.Cache().Open(t.Context(), &corev1.ConfigMap{}, flyclient.Selection{})
	must(t, err)
	t.Cleanup(handle.Close)
	must(t, mgr.Cache().AddIndex(configMaps, "data.color", informer.IndexPath("data[color]")))
	run(t, mgr.Run)
	must(t, mgr.Cache().WaitForSync(bounded(t)))
	return map[string]client.WithWatch{"server": fromServer, "cache": flyctrl.NewClient(mgr)}
}

func names(list client.ObjectList) []string {
	var all []string
	for _, o := range objects(list) {
		all = append(all, o.GetName())
	}
	return all
}

func objects(list client.ObjectList) (all []client.Object) {
	switch l := list.(type) {
	case *corev1.ConfigMapList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	case *unstructured.UnstructuredList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	case *metav1.PartialObjectMetadataList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	}
	return all
}

func lists() map[string]client.ObjectList {
	u := &unstructured.UnstructuredList{}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	m := &metav1.PartialObjectMetadataList{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	return map[string]client.ObjectList{"typed": &corev1.ConfigMapList{}, "unstructured": u, "metadata": m}
}

// Every form of an object and a list is read, from the cache and from the server, with all options.
func TestReads(t *testing.T) {
	ns := namespace(t)
	setUp := flyctrl.NewClient(newManager(t))
	for _, name := range []string{"a", "b", "c"} {
		m := configMap(ns, name, "color", map[string]string{"a": "red", "b": "red", "c": "blue"}[name])
		m.Labels = map[string]string{"first": map[bool]string{true: "yes", false: "no"}[name == "a"]}
		must(t, setUp.Create(bounded(t), m))
	}
	for from, c := range readers(t) {
		t.Run(from, func(t *testing.T) {
			ctx := bounded(t)
			for form, into := range map[string]client.Object{"typed": &corev1.ConfigMap{}, "unstructured": untyped("", ""), "metadata": partial("", "")} {
				must(t, c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "a"}, into, client.UnsafeDisableDeepCopy))
				if into.GetName() != "a" || into.GetResourceVersion() == "" || into.GetLabels()["first"] != "yes" {
					t.Errorf("%s: got %v", form, into)
				}
				if kind := into.GetObjectKind().GroupVersionKind(); kind != configMaps && (form != "typed" || from == "cache") {
					t.Errorf("%s: the kind is %v", form, kind)
				}
			}
			kept := configMap("other", "kept", "a", "b")
			err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "absent"}, kept)
			if !apierrors.IsNotFound(err) || client.IgnoreNotFound(err) != nil || kept.Name != "kept" || kept.Kind != "" {
				t.Errorf("an absent object: %v, left %v", err, kept)
			}
			if status, ok := errors.AsType[*apierrors.StatusError](err); !ok || status.ErrStatus.Reason != metav1.StatusReasonNotFound {
				t.Errorf("the error is a %T", err)
			}
			if _, ok := errors.AsType[*flyclient.NotFoundError](err); !ok {
				t.Errorf("the error lacks that of package client: %v", err)
			}
			for form, list := range lists() {
				must(t, c.List(ctx, list, client.InNamespace(ns), client.MatchingLabels{"first": "no"}))
				if got := names(list); !slices.Equal(got, []string{"b", "c"}) {
					t.Errorf("%s: by labels %q", form, got)
				}
				must(t, c.List(ctx, list, client.InNamespace(ns), client.MatchingFields{"metadata.name": "b"}))
				if got := names(list); !slices.Equal(got, []string{"b"}) {
					t.Errorf("%s: by name %q", form, got)
				}
				must(t, c.List(ctx, list, &client.ListOptions{Namespace: ns, Raw: &metav1.ListOptions{LabelSelector: "first=yes"}}))
				if got := names(list); !slices.Equal(got, []string{"a"}) {
					t.Errorf("%s: by raw options %q", form, got)
				}
				must(t, c.List(ctx, list, client.InNamespace(ns), client.MatchingLabels{"first": "never"}))
				if got := names(list); len(got) > 0 {
					t.Errorf("%s: nothing matches %q", form, got)
				}
				var paged []string
				next := ""
				for range 3 {
					must(t, c.List(ctx, list, client.InNamespace(ns), client.HasLabels{"first"}, client.Limit(1), client.Continue(next)))
					paged = append(paged, names(list)...)
					next = list.GetContinue()
				}
				if !slices.Equal(paged, []string{"a", "b", "c"}) {
					t.Errorf("%s: in pages %q, then %q", form, paged, next)
				}
			}
			var l corev1.ConfigMapList
			must(t, c.List(ctx, &l, client.InNamespace(ns)))
			if from == "server" && (l.ResourceVersion == "" || l.Items[0].Kind != "") {
				t.Errorf("the list has version %q, an item the kind %q", l.ResourceVersion, l.Items[0].Kind)
			}
			if err := c.List(ctx, &l, client.MatchingFields{"data.size": "1"}); err == nil || from == "cache" && !strings.Contains(err.Error(), "IndexField") {
				t.Errorf("a field without an index: %v", err)
			}
		})
	}
}

// A list by a field uses the index that a program declared in the words of controller-runtime.
func TestListByIndex(t *testing.T) {
	mgr := newManager(t)
	held, err := flyctrl.NewCache(mgr)
	must(t, err)
	ns, ctx := namespace(t), bounded(t)
	must(t, held.IndexField(ctx, &corev1.ConfigMap{}, "color", func(o client.Object) []string {
		return []string{o.(*corev1.ConfigMap).Data["color"]}
	}))
	if _, err := held.GetInformer(ctx, &corev1.ConfigMap{}); err != nil {
		t.Fatal(err)
	}
	c := flyctrl.NewClient(mgr)
	must(t, c.Create(ctx, configMap(ns, "a", "color", "red")))
	must(t, c.Create(ctx, configMap(ns, "b", "color", "blue")))
	run(t, mgr.Run)
	must(t, mgr.Cache().WaitForSync(ctx))
	var l corev1.ConfigMapList
	must(t, c.List(ctx, &l, client.InNamespace(ns), client.MatchingFields{"color": "blue"}))
	if got := names(&l); !slices.Equal(got, []string{"b"}) {
		t.Errorf("by color: %q", got)
	}
	if err := held.IndexField(ctx, &corev1.ConfigMap{}, "color", func(client.Object) []string { return nil }); err == nil {
		t.Error("a second index of the name")
	}
	if err := held.IndexField(ctx, &corev1.ConfigMap{}, "size", nil); err == nil {
		t.Error("an index without a function")
	}
	if err := held.IndexField(ctx, partial("", ""), "size", func(client.Object) []string { return nil }); err == nil {
		t.Error("an index of metadata")
	}
}

// A read of an open kind before the manager runs is an error, and so is a type that no scheme has.
func TestReadsThatCannotBe(t *testing.T) {
	mgr := newManager(t, func(o *flyball.Options) { o.Scheme = runtime.NewScheme() })
	c := flyctrl.NewClient(mgr)
	for name, err := range map[string]error{
		"get":    c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "b"}, &corev1.ConfigMap{}),
		"list":   c.List(t.Context(), &corev1.ConfigMapList{}),
		"create": c.Create(t.Context(), configMap("a", "b")),
		"status": c.Status().Update(t.Context(), configMap("a", "b")),
	} {
		if !runtime.IsNotRegisteredError(err) {
			t.Errorf("%s of a type that no scheme knows: %v", name, err)
		}
	}
	mgr = newManager(t)
	handle, err := mgr.Cache().Open(t.Context(), &corev1.ConfigMap{}, flyclient.Selection{})
	must(t, err)
	defer handle.Close()
	c = flyctrl.NewClient(mgr)
	for name, err := range map[string]error{
		"get":  c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "b"}, &corev1.ConfigMap{}),
		"list": c.List(t.Context(), &corev1.ConfigMapList{}),
	} {
		if _, ok := errors.AsType[*informer.NotSyncedError](err); !ok || !errors.Is(err, object.ErrNoAnswer) || apierrors.IsNotFound(err) {
			t.Errorf("%s before the manager runs: %v", name, err)
		}
	}
	var u unstructured.Unstructured
	if err := c.Get(t.Context(), client.ObjectKey{Name: "b"}, &u); err == nil {
		t.Error("an object that names no kind")
	}
	u.SetGroupVersionKind(configMaps.GroupVersion().WithKind("Nothing"))
	if err := c.Get(t.Context(), client.ObjectKey{Name: "b"}, &u); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("a kind that the server does not serve: %v", err)
	}
}

// A program that does not lead writes by the unfenced client alone.
func TestWritesAreFenced(t *testing.T) {
	mgr := newManager(t, func(o *flyball.Options) { o.Leader = &leader.Options{Namespace: "default"} })
	c, ns := flyctrl.NewClient(mgr), namespace(t)
	m := configMap(ns, "a")
	for name, err := range map[string]error{
		"create": c.Create(t.Context(), m),
		"update": c.Update(t.Context(), m),
		"delete": c.Delete(t.Context(), m),
		"status": c.Status().Patch(t.Context(), m, client.RawPatch("application/merge-patch+json", []byte("{}"))),
		"all":    c.DeleteAllOf(t.Context(), m, client.InNamespace(ns)),
	} {
		if fenced, ok := errors.AsType[*flyclient.FencedError](err); !ok {
			t.Errorf("%s: %v", name, err)
		} else if _, ok := errors.AsType[*leader.NotLeadingError](fenced); !ok {
			t.Errorf("%s: %v", name, fenced)
		}
	}
	must(t, flyctrl.NewUnfencedClient(mgr).Create(t.Context(), m))
	must(t, flyctrl.NewAPIReader(mgr).Get(t.Context(), client.ObjectKeyFromObject(m), m))
}

// A watch has the events of its own request, without bookmarks that nobody asked for, and ends with Stop.
func TestWatch(t *testing.T) {
	c, ns, ctx := flyctrl.NewClient(newManager(t)), namespace(t), bounded(t)
	for form, list := range lists() {
		m := configMap(ns, form)
		w, err := c.Watch(ctx, list, client.InNamespace(ns), client.MatchingFields{"metadata.name": form})
		must(t, err)
		must(t, c.Create(ctx, m))
		m.Data = map[string]string{"a": "b"}
		must(t, c.Update(ctx, m))
		must(t, c.Delete(ctx, m))
		var got []watch.EventType
		for e := range w.ResultChan() {
			o := e.Object.(client.Object)
			if got = append(got, e.Type); o.GetName() != form {
				t.Errorf("%s: %v of %q", form, e.Type, o.GetName())
			}
			if len(got) == 3 {
				w.Stop()
			}
		}
		if !slices.Equal(got, []watch.EventType{watch.Added, watch.Modified, watch.Deleted}) {
			t.Errorf("%s: events %v", form, got)
		}
	}
	if _, err := c.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(ns), &client.ListOptions{Raw: &metav1.ListOptions{LabelSelector: "=="}}); err == nil {
		t.Error("a watch with a bad selector")
	}
	w, err := c.Watch(ctx, &corev1.ConfigMapList{}, &client.ListOptions{Namespace: ns, Raw: &metav1.ListOptions{
		SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
	}})
	must(t, err)
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Bookmark {
			if o := e.Object.(*corev1.ConfigMap); o.ResourceVersion == "" || o.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
				t.Errorf("the bookmark is %v", o)
			}
			break
		}
	}
}
