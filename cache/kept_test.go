package cache_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// A program that keeps one short string of each object keeps little else. This holds for every read.
func TestKeptStringsKeepLittle(t *testing.T) {
	tier.Audit(t, "measures the heap")
	const n = 400
	c := newCluster()
	for _, meta := range []string{"", "metadata-only"} {
		for _, o := range testobj.Large("ns", n) {
			c.server("ConfigMap", meta).Put(o)
		}
	}
	held := newCache(t, c, cache.Options{})
	if err := held.AddIndex(kind("ConfigMap"), "label", informer.IndexPath("metadata.labels[app]")); err != nil {
		t.Fatal(err)
	}
	defer start(held)()
	ctx := t.Context()
	h, err := held.Open(ctx, &corev1.ConfigMap{}, client.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if err := held.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	in, ofKind := h.Informer(), client.OfKind(kind("ConfigMap"))
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var keys []object.Key
	for e := range client.List[corev1.ConfigMap](ctx, held) {
		keys = append(keys, object.KeyOf(e))
	}
	dataKey := func(m *corev1.ConfigMap) string {
		for k := range m.Data {
			if k != "large" {
				return k
			}
		}
		return ""
	}
	for what, f := range map[string]func(*corev1.ConfigMap) string{
		"a name":  func(m *corev1.ConfigMap) string { return m.Name },
		"a label": func(m *corev1.ConfigMap) string { return m.Labels["app"] },
		"a key":   dataKey,
		"a value": func(m *corev1.ConfigMap) string { return m.Data[dataKey(m)] },
	} {
		testobj.CheckKept(t, "Get of "+what, n, func(keep func(string)) {
			for _, k := range keys {
				o, err := client.Get[corev1.ConfigMap](ctx, held, k)
				must(err)
				keep(f(o))
			}
		})
		testobj.CheckKept(t, "List of "+what, n, func(keep func(string)) {
			for o, err := range client.List[corev1.ConfigMap](ctx, held) {
				must(err)
				keep(f(o))
			}
		})
	}
	testobj.CheckKept(t, "Get of unstructured", n, func(keep func(string)) {
		for _, k := range keys {
			o, err := client.Get[unstructured.Unstructured](ctx, held, k, ofKind)
			must(err)
			for k := range o.Object["data"].(map[string]any) {
				if k != "large" {
					keep(k)
				}
			}
		}
	})
	testobj.CheckKept(t, "Get of metadata", n, func(keep func(string)) {
		for _, k := range keys {
			o, err := client.Get[metav1.PartialObjectMetadata](ctx, held, k, ofKind)
			must(err)
			keep(o.Name)
		}
	})
	testobj.CheckKept(t, "ListPage", n, func(keep func(string)) {
		page, err := client.ListPage[corev1.ConfigMap](ctx, held, client.ListOptions{Limit: -1})
		must(err)
		for _, o := range page.Items {
			keep(o.Labels["app"])
		}
	})
	type view struct {
		Metadata struct {
			Name   string
			Labels map[string]string
		}
	}
	testobj.CheckKept(t, "Project", n, func(keep func(string)) {
		for _, k := range keys {
			v, err := client.Project[corev1.ConfigMap, view](ctx, held, k)
			must(err)
			keep(v.Metadata.Labels["app"])
		}
	})
	testobj.CheckKept(t, "ProjectList", n, func(keep func(string)) {
		for v, err := range client.ProjectList[corev1.ConfigMap, view](ctx, held) {
			must(err)
			keep(v.Metadata.Name)
		}
	})
	testobj.CheckKept(t, "Header", n, func(keep func(string)) {
		for _, k := range keys {
			h, err := in.Header(k)
			must(err)
			keep(h.Labels["app"])
		}
	})
	testobj.CheckKept(t, "Label", n, func(keep func(string)) {
		for _, k := range keys {
			must(in.Look(k, func(e *store.Entry) error {
				app, _ := e.Label("app")
				keep(app)
				return nil
			}))
		}
	})
	testobj.CheckKept(t, "IndexValues", n, func(keep func(string)) {
		now, err := in.Snapshot()
		must(err)
		values, err := now.IndexValues("label")
		must(err)
		for v := range values {
			keep(v)
		}
	})
	testobj.CheckKept(t, "a handler", n, func(keep func(string)) {
		told := make(chan string, n)
		r, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{OnAdd: func(o *corev1.ConfigMap, _ bool) { told <- o.Labels["app"] }})
		must(err)
		for range n {
			keep(<-told)
		}
		must(r.RemoveAndWait(ctx))
	})
}
