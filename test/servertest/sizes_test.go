package servertest_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
)

// largest is what fits in etcd, with managed fields.
const largest = 1_000_000

// Objects of every size are written, listed, read and watched through the server as the stock decoders read them.
func TestSizes(t *testing.T) {
	s := servertest.Shared(t)
	c := sizes.Draw(t)
	livetest.Define(t, livetest.Client(t, s, client.Options{}), testobj.CRD(sizes.Things, "things"))
	for _, gvk := range []string{"ConfigMap", "Thing"} {
		t.Run(gvk, func(t *testing.T) {
			if c.GVK = sizes.Things; gvk == "ConfigMap" {
				c.GVK = corev1.SchemeGroupVersion.WithKind(gvk)
				throughServer[corev1.ConfigMap](t, c, s)
			} else {
				throughServer[unstructured.Unstructured](t, c, s)
			}
		})
	}
}

func throughServer[T any, P object.Ptr[T]](t *testing.T, c *sizes.Case, s *servertest.Server) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	ns, kind := servertest.Namespace(t, s), client.OfKind(c.GVK)
	cfg := s.RESTConfig()
	cfg.Wrap(c.InPieces)
	live, err := client.New(cfg, client.Options{})
	must(err)
	defer live.Close()
	made := 0
	fresh := func(name string) P {
		made++ // each differs from the one before it
		o := c.New(name, largest).(P)
		o.SetNamespace(ns)
		o.SetManagedFields(nil)
		o.SetLabels(map[string]string{"test": "sizes", "made": strconv.Itoa(made)}) // controllers make others
		return o
	}
	names := []string{"a", "b", "c", "d", "e"}
	for _, name := range names {
		_, err := client.Create(ctx, live, fresh(name))
		must(err)
	}
	ours := client.ListOptions{Selection: client.Selection{Namespace: ns, Labels: labels.Set{"test": "sizes"}.AsSelector()}}
	page, err := client.ListPage[T, P](ctx, live, kind, ours)
	must(err)
	w, err := client.Watch[T, P](ctx, live, kind, ours, client.AtVersion(page.ResourceVersion))
	must(err)
	defer w.Stop()
	for _, name := range names {
		o, err := client.Get[T, P](ctx, live, object.Key{Namespace: ns, Name: name}, kind)
		must(err)
		next := fresh(name)
		next.SetResourceVersion(o.GetResourceVersion())
		_, err = client.Update(ctx, live, next)
		must(err)
	}
	stock := stockRead[P](t, s.RESTConfig(), c, ns, names)
	for ev, err := range w.Events() {
		must(err)
		if ev.Type == watch.Bookmark {
			continue
		}
		sizes.Same(t, ev.Object, stock[ev.Object.GetName()])
		if ev.Object.GetName() == "e" {
			break
		}
	}
	for _, limit := range []int64{0, 1, 2} {
		n := 0
		ours.Limit = limit
		for o, err := range client.List[T, P](ctx, live, kind, ours) {
			must(err)
			sizes.Same(t, o, stock[o.GetName()])
			n++
		}
		if n != len(names) {
			t.Errorf("pages of %d: %d objects", limit, n)
		}
	}
}

// stockRead gets each object with net/http, and decodes it as client-go does.
func stockRead[P object.Object](t *testing.T, cfg *rest.Config, c *sizes.Case, ns string, names []string) map[string]P {
	t.Helper()
	plain, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]P{}
	for _, name := range names {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cfg.Host+c.Path(ns)+"/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if req.Header.Set("Accept", wire.AcceptJSON); c.Encoding == wire.Protobuf {
			req.Header.Set("Accept", wire.AcceptProtobuf)
		}
		resp, err := plain.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s, %v: %.300s", resp.Status, err, b)
		}
		all[name] = c.Decode(b, resp.Header.Get("Content-Type")).(P)
	}
	return all
}
