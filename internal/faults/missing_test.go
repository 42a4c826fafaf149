package faults_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/test/servertest"
)

// A load balancer answers 404 in place of the API server: for all paths or for one, as a page or as
// a Status. No deletion is reported, and reads are errors until the kind is back.
func TestFault35NotFoundByALoadBalancer(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		html := func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, "<html><h1>404 Not Found</h1><hr>nginx</html>")
			return true
		}
		status := func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return true
		}
		absent := span(30*time.Second, time.Second)
		g, r := behind(t, p, setup{tune: func(c *reflector.Options) { steady(c); c.Absent = absent }})
		for name, fault := range map[string]func(http.ResponseWriter, *http.Request) bool{
			"a page": html, "a Status": status,
			"a Status for one path": func(w http.ResponseWriter, q *http.Request) bool {
				return strings.HasSuffix(q.URL.Path, "/configmaps") && status(w, q)
			},
		} {
			before := *r.tally("handler")
			g.Renew(fault)
			r.await("unavailable", func(s reflector.State) bool { return s.Phase == reflector.Unavailable })
			r.churn(20)
			r.during(func() {
				pass(t.Context(), 3*absent)
			})
			n := 0
			var read error
			for _, read = range client.List[corev1.ConfigMap](t.Context(), r.mgr.Cache(), client.InNamespace(r.ns)) {
				n++
			}
			var u *informer.UnavailableError
			if !errors.As(read, &u) || !errors.Is(read, object.ErrNoAnswer) || n != 1 {
				t.Errorf("%s: a list of %d: %v", name, n, read)
			}
			if now := *r.tally("handler"); now.deleted != before.deleted {
				t.Errorf("%s: %d deletes were told", name, now.deleted-before.deleted)
			}
			g.Renew(nil)
			r.await("back", func(s reflector.State) bool { return s.Phase == reflector.Synced })
			r.nothingLost()
		}
	})
}

// A version is no longer served; the objects remain in another one.
func TestFault35VersionRemoved(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		gvk, crd := custom("meteors", "Meteor")
		v1 := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
		v2 := map[string]any{"name": "v2", "served": true, "storage": false, "schema": v1["schema"]}
		crd.Object["spec"].(map[string]any)["versions"] = []any{v1, v2}
		var meteors *cache.Handle
		r := start(t, p, setup{
			tune: func(c *reflector.Options) { c.Absent = span(30*time.Second, time.Second) },
			also: func(r *rig) {
				define(r, gvk, crd)
				var err error
				meteors, err = r.mgr.Cache().Open(t.Context(), instance(gvk, "", "", nil), client.Selection{})
				must(t, err)
			},
		})
		_, err := client.Create(t.Context(), r.direct, instance(gvk, r.ns, "m", nil))
		must(t, err)
		phase := func(p reflector.Phase) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), hung)
			defer cancel()
			// the watch is synced before the store has its objects
			if !r.state.await(ctx, func() bool {
				s := meteors.Informer().State()
				return s.Watch.Phase == p && s.Unavailable == nil
			}) {
				t.Fatalf("not %v: %v", p, meteors.Informer().State())
			}
		}
		phase(reflector.Synced)
		serve := func(v1 bool) {
			t.Helper()
			now, err := client.Get[unstructured.Unstructured](t.Context(), r.direct, object.Key{Name: crd.GetName()}, client.OfKind(crd.GroupVersionKind()))
			must(t, err)
			versions, _, _ := unstructured.NestedSlice(now.Object, "spec", "versions")
			versions[0].(map[string]any)["served"] = v1
			must(t, unstructured.SetNestedSlice(now.Object, versions, "spec", "versions"))
			_, err = client.Update(t.Context(), r.direct, now)
			must(t, err)
		}
		serve(false)
		ctx, cancel := context.WithTimeout(t.Context(), hung)
		defer cancel()
		var u *informer.UnavailableError
		if !r.state.await(ctx, func() bool {
			_, err = client.Get[unstructured.Unstructured](t.Context(), r.mgr.Cache(), object.Key{Namespace: r.ns, Name: "m"}, client.OfKind(gvk))
			return errors.As(err, &u) && slices.Equal(u.Served, []string{"v2"})
		}) {
			t.Fatalf("%v; %v", err, meteors.Informer().State())
		}
		t.Log(err)
		if n := meteors.Informer().State().Objects; n != 1 {
			t.Errorf("%d objects are held", n)
		}
		serve(true)
		phase(reflector.Synced)
		_, err = client.Get[unstructured.Unstructured](t.Context(), r.mgr.Cache(), object.Key{Namespace: r.ns, Name: "m"}, client.OfKind(gvk))
		must(t, err)
	})
}
