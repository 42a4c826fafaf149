package cache_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Headers yields the headers of the objects that a List yields, and of those that cannot be
// decoded.
func TestHeadersMatchTheObjectsOfAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster()
		s := cl.server("Pod", "")
		s.Put(testobj.Pod("b/p2", testobj.OnNode("n1"), testobj.Labels("app=web")))
		s.Put(testobj.Pod("a/p1", testobj.OnNode("n1"), testobj.Labels("app=web")))
		s.PutJSON(object.Key{Namespace: "a", Name: "p3"}, "", `"spec":7`)
		c := newCache(t, cl, cache.Options{})
		if err := cache.IndexField(c, "node", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} }); err != nil {
			t.Fatal(err)
		}
		headers := func(opts ...client.ListOption) string {
			var found []string
			for h, err := range cache.Headers[corev1.Pod](t.Context(), c, opts...) {
				if rejected, ok := errors.AsType[*store.RejectedError](err); ok {
					found = append(found, rejected.Key.String()+" rejected")
					continue
				} else if err != nil {
					return "error"
				}
				found = append(found, h.Key.String()+h.Labels["app"])
			}
			return strings.Join(found, " ")
		}
		if got := headers(); got != "error" {
			t.Errorf("of a kind that nobody opened: %q", got)
		}
		defer open(t, c, &corev1.Pod{}).Close()
		stop := start(c)
		defer stop()
		if err := c.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct{ name, got, want string }{
			{"all", headers(), "a/p1web a/p3 b/p2web"},
			{"namespace", headers(client.InNamespace("b")), "b/p2web"},
			{"index", headers(client.MatchingFields{"node": "n1"}), "a/p1web a/p3 rejected b/p2web"},
			{"name", headers(client.MatchingFields{"metadata.name": "p3"}), "a/p3"},
			{"name and index", headers(client.MatchingFields{"metadata.name": "p3", "node": "n1"}), "a/p3 rejected"},
			{"no such index", headers(client.MatchingFields{"x": "1"}), "error"},
			{"no selector", headers(client.LabelSelector("a=b=c")), "error"},
		} {
			if tc.got != tc.want {
				t.Errorf("%s: %q, want %q", tc.name, tc.got, tc.want)
			}
		}
		for range cache.Headers[corev1.Pod](t.Context(), c) {
			break
		}
	})
}

// The resolved read of a Go type is dropped when its kind is closed.
func TestClosedKindIsNoLongerRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster()
		s := cl.server("Pod", "")
		s.Put(testobj.Pod("a/p1", testobj.OnNode("n1"), testobj.Labels("app=web")))
		c := newCache(t, cl, cache.Options{})
		defer start(c)()
		key := object.Key{Namespace: "a", Name: "p1"}
		type view struct{ Spec struct{ NodeName string } }
		read := func() string {
			h, err := cache.Header[corev1.Pod](t.Context(), c, key)
			p, err2 := client.Get[corev1.Pod](t.Context(), c, key)
			v, err3 := client.Project[corev1.Pod, view](t.Context(), c, key)
			var undeclared *cache.UndeclaredError
			for _, err := range []error{err, err2, err3} {
				if errors.As(err, &undeclared) != (err != nil) || (err != nil) != (err3 != nil) {
					t.Errorf("errors differ: %v", err)
				}
			}
			if err != nil {
				return "undeclared"
			}
			return h.Key.String() + " " + h.Labels["app"] + " " + p.Spec.NodeName + " " + v.Spec.NodeName
		}
		for _, node := range []string{"n1", "n2"} {
			s.Put(testobj.Pod("a/p1", testobj.OnNode(node), testobj.Labels("app=web")))
			h := open(t, c, &corev1.Pod{})
			if err := c.WaitForSync(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got, want := read(), "a/p1 web "+node+" "+node; got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
			h.Close()
			if got := read(); got != "undeclared" {
				t.Errorf("after Close: %s", got)
			}
		}
	})
}
