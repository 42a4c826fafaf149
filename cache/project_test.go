package cache_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

type podView struct {
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Spec struct{ NodeName string }
}

type wrongView struct{ Spec struct{ NodName string } }

// views joins the views that a list yields, or returns the error that ended it.
func views(c *cache.Cache, t *testing.T, opts ...client.ListOption) string {
	var found []string
	for v, err := range client.ProjectList[corev1.Pod, podView](t.Context(), c, opts...) {
		text := v.Metadata.Name + "@" + v.Spec.NodeName
		if rejected, ok := errors.AsType[*store.RejectedError](err); ok {
			text = rejected.Key.Name + " rejected"
		} else if err != nil {
			text = fmt.Sprintf("%T", err)
		}
		found = append(found, text)
	}
	return strings.Join(found, " ")
}

func TestViewsEqualDecodedFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		cl := newCluster()
		s := cl.server("Pod", "")
		s.Put(testobj.Pod("b/p2", testobj.OnNode("n1"), testobj.Labels("app=web")))
		s.Put(testobj.Pod("a/p1", testobj.OnNode("n1"), testobj.Labels("app=web")))
		s.PutJSON(object.Key{Namespace: "a", Name: "p3"}, "", `"spec":7`)
		cl.server("Node", "metadata-only").Put(testobj.Node("n1"))
		c := newCache(t, cl, cache.Options{})

		type nodeName struct {
			Node string `field:"spec.nodeName"`
		}
		byNode := func(v *nodeName) []string { return []string{v.Node} }
		if err := c.AddIndex(kind("Pod"), "node", informer.IndexView(byNode)); err != nil {
			t.Fatal(err)
		}
		if err := c.AddIndex(kind("Pod"), "node", informer.IndexView(byNode)); !is[*store.IndexExistsError](err) {
			t.Errorf("twice: %v", err)
		}
		if err := c.AddIndex(kind("Pod"), "wrong", informer.IndexView(func(*wrongView) []string { return nil })); !is[*wire.ProjectionError](err) {
			t.Errorf("a wrong view: %v", err)
		}
		if err := c.AddIndex(kind("Pod"), "none", informer.IndexView[nodeName](nil)); !errors.Is(err, store.ErrBadIndex) {
			t.Errorf("no function: %v", err)
		}

		if got := views(c, t); got != "*cache.UndeclaredError" {
			t.Errorf("of a kind that nobody opened: %q", got)
		}
		defer open(t, c, &corev1.Pod{}).Close()
		node := &metav1.PartialObjectMetadata{}
		node.SetGroupVersionKind(kind("Node"))
		defer open(t, c, node).Close()
		stop := start(c)
		defer stop()
		if err := c.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct{ name, got, want string }{
			{"all", views(c, t), "p1@n1 p3 rejected p2@n1"},
			{"namespace", views(c, t, client.InNamespace("b")), "p2@n1"},
			{"labels", views(c, t, client.MatchingLabels{"app": "web"}), "p1@n1 p2@n1"},
			{"index", views(c, t, client.MatchingFields{"node": "n1"}), "p1@n1 p3 rejected p2@n1"},
			{"no such index", views(c, t, client.MatchingFields{"x": "1"}), "*store.UnknownIndexError"},
		} {
			if tc.got != tc.want {
				t.Errorf("%s: %q, want %q", tc.name, tc.got, tc.want)
			}
		}
		for range client.ProjectList[corev1.Pod, podView](ctx, c) {
			break
		}
		for _, err := range client.ProjectList[corev1.Pod, wrongView](ctx, c, client.InNamespace("empty")) {
			if !is[*wire.ProjectionError](err) {
				t.Errorf("list of a wrong view: %v", err)
			}
		}

		v, err := client.Project[corev1.Pod, podView](ctx, c, object.Key{Namespace: "a", Name: "p1"})
		if err != nil || v.Spec.NodeName != "n1" || v.Metadata.Labels["app"] != "web" {
			t.Errorf("%+v %v", v, err)
		}
		type name struct{ Metadata struct{ Name string } }
		for _, tc := range []struct {
			name string
			err  error
			want func(error) bool
		}{
			{"rejected", second(client.Project[corev1.Pod, podView](ctx, c, object.Key{Namespace: "a", Name: "p3"})), is[*store.RejectedError]},
			{"not there", second(client.Project[corev1.Pod, podView](ctx, c, object.Key{Namespace: "a", Name: "p4"})), is[*client.NotFoundError]},
			{"no namespace", second(client.Project[corev1.Pod, podView](ctx, c, object.Key{Name: "p1"})), is[*client.ArgumentError]},
			{"wrong view", second(client.Project[corev1.Pod, wrongView](ctx, c, object.Key{Namespace: "a", Name: "p1"})), is[*wire.ProjectionError]},
			{"no view", second(client.Project[corev1.Pod, string](ctx, c, object.Key{Namespace: "a", Name: "p1"})), is[*informer.TypeMismatchError]},
			{"subresource", second(client.Project[corev1.Pod, podView](ctx, c, object.Key{Namespace: "a", Name: "p1"}, client.Sub("status"))), is[*cache.UnsupportedError]},
			{"another kind", second(client.Project[corev1.Secret, name](ctx, c, object.Key{Namespace: "a", Name: "p1"})), is[*cache.UndeclaredError]},
		} {
			if !tc.want(tc.err) {
				t.Errorf("%s: %v", tc.name, tc.err)
			}
		}

		if h, err := cache.Header[corev1.Pod](ctx, c, object.Key{Namespace: "a", Name: "p1"}); err != nil || h.Name != "p1" || h.Labels["app"] != "web" {
			t.Errorf("header: %v %v", h, err)
		}
		if h, err := cache.Header[corev1.Pod](ctx, c, object.Key{Namespace: "a", Name: "p4"}); h != nil || !is[*client.NotFoundError](err) {
			t.Errorf("header of what is not there: %v %v", h, err)
		}

		// Metadata-only kinds have views of their metadata.
		meta := client.OfKind(kind("Node"))
		if h, err := cache.Header[metav1.PartialObjectMetadata](ctx, c, object.Key{Name: "n1"}, meta); err != nil || h.Name != "n1" {
			t.Errorf("header: %v %v", h, err)
		}
		if v, err := client.Project[metav1.PartialObjectMetadata, name](ctx, c, object.Key{Name: "n1"}, meta); err != nil || v.Metadata.Name != "n1" {
			t.Errorf("%+v %v", v, err)
		}
		if _, err := client.Project[metav1.PartialObjectMetadata, podView](ctx, c, object.Key{Name: "n1"}, meta); !is[*wire.ProjectionError](err) {
			t.Errorf("more than metadata: %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
