package client

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// A program that keeps one short string of each object that it reads from the server keeps little else.
func TestKeptStringsKeepLittle(t *testing.T) {
	tier.Audit(t, "measures the heap")
	const n = 300
	f := newFake(t)
	all := testobj.Large("web", n)
	list := corev1.ConfigMapList{}
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	for _, o := range all {
		f.on("GET /api/v1/namespaces/web/configmaps/"+o.Name, reply(o, kind))
		list.Items = append(list.Items, *o)
	}
	for _, enc := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		body, ct, err := wire.Encode(&list, corev1.SchemeGroupVersion.WithKind("ConfigMapList"), enc)
		if err != nil {
			t.Fatal(err)
		}
		f.on("GET /api/v1/configmaps", text(200, ct, string(body)))
		keptReads[corev1.ConfigMap](t, f, enc.String()+" typed", all)
		keptReads[unstructured.Unstructured](t, f, enc.String()+" unstructured", all)
	}
}

func keptReads[T any, P object.Ptr[T]](t *testing.T, f *fake, form string, all []*corev1.ConfigMap) {
	t.Helper()
	c, ctx := f.client(Options{}), t.Context()
	ofKind := OfKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	keepOf := func(keep func(string), o P, err error) {
		if err != nil {
			t.Fatal(err)
		}
		keep(o.GetLabels()["app"])
	}
	testobj.CheckKept(t, form+" Get", len(all), func(keep func(string)) {
		for _, o := range all {
			got, err := Get[T, P](ctx, c, object.KeyOf(o), ofKind)
			keepOf(keep, got, err)
		}
		f.mu.Lock()
		f.asked = nil
		f.mu.Unlock()
	})
	if strings.HasPrefix(form, "protobuf u") {
		return // unstructured lists are asked for in JSON
	}
	testobj.CheckKept(t, form+" List", len(all), func(keep func(string)) {
		for o, err := range List[T, P](ctx, c, ofKind) {
			keepOf(keep, o, err)
		}
	})
	testobj.CheckKept(t, form+" ListPage", len(all), func(keep func(string)) {
		page, err := ListPage[T, P](ctx, c, ofKind)
		for _, o := range page.Items {
			keepOf(keep, o, err)
		}
	})
	type view struct{ Metadata struct{ Name string } }
	testobj.CheckKept(t, form+" ProjectList", len(all), func(keep func(string)) {
		for v, err := range ProjectList[T, view, P](ctx, c, ofKind) {
			if err != nil {
				t.Fatal(err)
			}
			keep(v.Metadata.Name)
		}
	})
}

// So does one that keeps a string of each object of a watch.
func TestKeptStringsOfWatchesKeepLittle(t *testing.T) {
	tier.Audit(t, "measures the heap")
	const n = 300
	for _, enc := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		c := sizes.Draw(t)
		c.GVK, c.Encoding, c.First, c.Events = corev1.SchemeGroupVersion.WithKind("ConfigMap"), enc, nil, nil
		for _, o := range testobj.Large(sizes.Namespace, n) {
			c.Events = append(c.Events, sizes.Event{Type: "ADDED", Object: o})
		}
		live, err := New(c.Config(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer live.Close()
		keptEvents[corev1.ConfigMap](t, live, enc.String()+" typed", n)
		keptEvents[unstructured.Unstructured](t, live, enc.String()+" unstructured", n)
	}
}

func keptEvents[T any, P object.Ptr[T]](t *testing.T, c *Live, form string, n int) {
	t.Helper()
	testobj.CheckKept(t, form+" Watch", n, func(keep func(string)) {
		w, err := Watch[T, P](t.Context(), c, OfKind(corev1.SchemeGroupVersion.WithKind("ConfigMap")), AtVersion("1"))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		for e, err := range w.Events() {
			if err != nil {
				t.Fatal(err)
			}
			if e.Object == nil || e.Type == watch.Bookmark {
				break
			}
			keep(e.Object.GetLabels()["app"])
		}
	})
}
