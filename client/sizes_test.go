package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Objects of every size come from Get, List, Page, Project, Watch and a Feed as from the stock decoders.
func TestSizes(t *testing.T) {
	sizes.Run(t, func(t *testing.T, c *sizes.Case) {
		if c.GVK.Kind == "ConfigMap" {
			readSizes[corev1.ConfigMap](t, *c)
		}
		readSizes[unstructured.Unstructured](t, *c)
	})
}

func readSizes[T any, P object.Ptr[T]](t *testing.T, c sizes.Case) {
	t.Helper()
	live, err := New(c.Config(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	kind := OfKind(c.GVK)

	var all []object.Object
	for o, err := range List[T, P](ctx, live, kind, ListOptions{Limit: c.Page}) {
		must(err)
		all = append(all, o)
	}
	c.Check(t, all, c.First)

	all = all[:0]
	for o := (ListOptions{Limit: c.Page}); ; {
		page, err := ListPage[T, P](ctx, live, kind, o)
		must(err)
		for _, o := range page.Items {
			all = append(all, o)
		}
		if o.Continue = page.Continue; o.Continue == "" {
			break
		}
	}
	c.Check(t, all, c.First)

	i := 0
	type view struct{ Metadata struct{ Name string } }
	for v, err := range ProjectList[T, view, P](ctx, live, kind, ListOptions{Limit: c.Page}) {
		must(err)
		if v.Metadata.Name != c.First[i].GetName() {
			t.Errorf("view of %q, want %q", v.Metadata.Name, c.First[i].GetName())
		}
		i++
	}
	for _, want := range c.Last() {
		got, err := Get[T, P](ctx, live, object.KeyOf(want), kind)
		must(err)
		c.CheckOne(t, got, want, false)
	}

	w, err := Watch[T, P](ctx, live, kind, AtVersion("1000"))
	must(err)
	defer w.Stop()
	for ev, err := range w.Events() {
		must(err)
		if ev.Type == watch.Bookmark {
			break // the last
		}
		c.CheckOne(t, ev.Object, c.Events[0].Object, false)
		c.Events = c.Events[1:]
	}
	if len(c.Events) > 0 {
		t.Errorf("%d events did not come", len(c.Events))
	}
}

// A body with one object above the limit is a [wire.TooLargeError], by every way to read it. The error names the call.
func TestTooLargeIsNamed(t *testing.T) {
	endless := func(start string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			before, ct := start, wire.ContentTypeJSON
			if r.URL.Query().Has("watch") {
				before, ct = `{"type":"ADDED","object":`, wire.ContentTypeJSONWatch
			}
			w.Header().Set("Content-Type", ct)
			io.WriteString(w, before+`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"web","name":"a"},"data":{"a":"`)
			io.Copy(w, io.LimitReader(letters{}, 40<<20))
		}
	}
	f := newFake(t)
	f.on("GET /api/v1/namespaces/web/configmaps/a", endless(""))
	f.on("GET /api/v1/configmaps", endless(`{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[`))
	c := f.serve(Options{})
	ctx := t.Context()
	for name, read := range map[string]func() error{
		"get": func() error { _, err := Get[corev1.ConfigMap](ctx, c, key("a")); return err },
		"list": func() error {
			for _, err := range List[corev1.ConfigMap](ctx, c) {
				return err
			}
			return nil
		},
		"page": func() error { _, err := ListPage[corev1.ConfigMap](ctx, c); return err },
		"watch": func() error {
			w, err := Watch[corev1.ConfigMap](ctx, c)
			if err != nil {
				return err
			}
			for _, err := range w.Events() {
				return err
			}
			return nil
		},
	} {
		err := read()
		var large *wire.TooLargeError
		if !errors.As(err, &large) || large.Size <= large.Limit || !strings.Contains(err.Error(), "configmaps") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// letters is an endless text.
type letters struct{}

func (letters) Read(b []byte) (int, error) { return copy(b, strings.Repeat("a", len(b))), nil }
