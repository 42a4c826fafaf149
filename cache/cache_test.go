package cache_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/store"
)

// names joins the keys of a list, or returns the error that ended it.
func names[P object.Object](all iter.Seq2[P, error]) string {
	var found []string
	for o, err := range all {
		if err != nil {
			found = append(found, "error: "+err.Error())
			continue
		}
		found = append(found, object.KeyOf(o).String())
	}
	return strings.Join(found, " ")
}

func open(t *testing.T, c *cache.Cache, proto object.Object) *cache.Handle {
	t.Helper()
	h, err := c.Open(t.Context(), proto, client.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestReadsSelectByNamespaceLabelAndField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		cl := newCluster()
		s := cl.server("Pod", "")
		s.Put(testobj.Pod("b/p2", testobj.OnNode("n1"), testobj.Labels("app=web")))
		s.Put(testobj.Pod("a/p1", testobj.OnNode("n1"), testobj.Labels("app=web", "tier=x")))
		s.Put(testobj.Pod("a/p2", testobj.OnNode("n2"), testobj.Labels("app=db")))
		s.PutJSON(object.Key{Namespace: "a", Name: "p3"}, "", `"spec":7`)
		cl.server("Node", "").Put(testobj.Node("n1"))
		c := newCache(t, cl, cache.Options{})
		if err := cache.IndexField(c, "zone", func(p *corev1.Pod) []string { return []string{"zone-" + p.Spec.NodeName} }); err != nil {
			t.Fatal(err)
		}
		defer open(t, c, &corev1.Pod{}).Close()
		defer open(t, c, &corev1.Node{}).Close()
		stop := start(c)
		if err := c.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}

		got, err := client.Get[corev1.Pod](ctx, c, object.Key{Namespace: "a", Name: "p1"})
		if err != nil || got.Spec.NodeName != "n1" {
			t.Fatalf("Get = %v, %v", got, err)
		}
		got.Labels["app"] = "spoiled"
		if again, err := client.Get[corev1.Pod](ctx, c, object.Key{Namespace: "a", Name: "p1"}); err != nil || again.Labels["app"] != "web" {
			t.Errorf("the copy was the cache's: %v, %v", again, err)
		}
		if n, err := client.Get[corev1.Node](ctx, c, object.Key{Namespace: "any", Name: "n1"}); err != nil || n.Name != "n1" {
			t.Errorf("cluster-scoped: %v, %v", n, err)
		}
		_, err = client.Get[corev1.Pod](ctx, c, object.Key{Namespace: "a", Name: "none"})
		var invalid *client.ArgumentError
		for _, key := range []object.Key{{Name: "p1"}, {Namespace: "a"}} {
			if _, err := client.Get[corev1.Pod](ctx, c, key); !errors.As(err, &invalid) || invalid.Key != key || !strings.Contains(err.Error(), "is empty") {
				t.Errorf("Get of a key that cannot be one = %v", err)
			}
		}
		var missing *client.NotFoundError
		if !errors.As(err, &missing) || !apierrors.IsNotFound(err) || missing.Resource.Resource != "pods" || missing.Key.Name != "none" {
			t.Errorf("Get of nothing = %v", err)
		}
		var rejected *store.RejectedError
		if _, err = client.Get[corev1.Pod](ctx, c, object.Key{Namespace: "a", Name: "p3"}); !errors.As(err, &rejected) {
			t.Errorf("Get of what cannot be decoded = %v", err)
		}
		var unsupported *cache.UnsupportedError
		if _, err = client.Get[corev1.Pod](ctx, c, object.Key{Namespace: "a", Name: "p1"}, client.Sub("status")); !errors.As(err, &unsupported) {
			t.Errorf("Get of a subresource = %v", err)
		}
		u, err := client.Get[unstructured.Unstructured](ctx, c, object.Key{Namespace: "a", Name: "p1"}, client.OfKind(kind("Pod")))
		if err != nil || u.GetKind() != "Pod" || u.Object["spec"].(map[string]any)["nodeName"] != "n1" {
			t.Errorf("unstructured: %v, %v", u, err)
		}
		named := &unstructured.Unstructured{}
		if err := c.Get(ctx, object.Key{Namespace: "a", Name: "p1"}, named, client.GetOptions{Kind: kind("Pod")}); err != nil || named.GetName() != "p1" {
			t.Errorf("the kind by an option: %v, %v", named, err)
		}
		m, err := client.Get[metav1.PartialObjectMetadata](ctx, c, object.Key{Namespace: "a", Name: "p1"}, client.OfKind(kind("Pod")))
		if err != nil || m.Labels["app"] != "web" {
			t.Errorf("metadata from whole objects: %v, %v", m, err)
		}

		if err := c.AddIndex(kind("Pod"), "metadata.labels[tier]", informer.IndexPath("metadata.labels[tier]")); err != nil { // while it runs
			t.Fatal(err)
		}

		const bad = `error: pods "a/p3" is rejected by the cache: `
		list := func(opts ...client.ListOption) string { return names(client.List[corev1.Pod](ctx, c, opts...)) }
		for _, tc := range []struct{ name, got, want string }{
			{"all", list(), "a/p1 a/p2 " + bad + "* b/p2"},
			{"namespace", list(client.InNamespace("b")), "b/p2"},
			{"labels", list(client.MatchingLabels{"app": "web"}), "a/p1 b/p2"},
			{"selector", list(client.LabelSelector("app in (web,db),!tier")), "a/p2 b/p2"},
			{"nothing", list(client.Selection{Labels: labels.Nothing()}), ""},
			{"index", list(client.MatchingFields{"zone": "zone-n1"}), "a/p1 " + bad + "* b/p2"}, // no index has it, and it may belong there
			{"index and labels", list(client.MatchingFields{"zone": "zone-n1"}, client.MatchingLabels{"tier": "x"}), "a/p1"},
			{"index and namespace", list(client.MatchingFields{"zone": "zone-n1"}, client.InNamespace("b")), "b/p2"},
			{"late index", list(client.MatchingFields{"metadata.labels[tier]": "x"}), "a/p1 " + bad + "*"},
			{"index, and labels that it has not", list(client.MatchingFields{"zone": "zone-n3"}, client.MatchingLabels{"app": "web"}), ""},
			{"index, in its namespace", list(client.MatchingFields{"zone": "zone-n3"}, client.InNamespace("a")), bad + "*"},
			{"name", list(client.MatchingFields{"metadata.name": "p2"}), "a/p2 b/p2"},
			{"name in a namespace", list(client.MatchingFields{"metadata.name": "p2"}, client.InNamespace("a")), "a/p2"},
			{"both by fields", list(client.FieldSelector("metadata.name=p2,metadata.namespace==b")), "b/p2"},
			{"all must be met", list(client.FieldSelector("metadata.name=p2,zone=zone-n2")), "a/p2"},
			{"contradiction", list(client.FieldSelector("metadata.name=p2,metadata.name=p1")), ""},
			{"two namespaces", list(client.FieldSelector("metadata.namespace=a"), client.InNamespace("b")), ""},
			{"no such index", list(client.MatchingFields{"spec.x": "1"}), `error: pods have no index "spec.x"`},
			{"not exact", list(client.FieldSelector("zone!=zone-n1")), "error: cache: read of Pod: field selector zone!=zone-n1: *"},
			{"no token of ours", list(client.ListOptions{Continue: "x"}), `error: cache: "x" is not a continue token of a cache`},
			{"limit does not bound", list(client.ListOptions{Limit: 1}, client.MatchingLabels{"app": "web"}), "a/p1 b/p2"},
		} {
			if !like(tc.got, tc.want) {
				t.Errorf("%s: %q, want %q", tc.name, tc.got, tc.want)
			}
		}
		if err := stop(); !errors.Is(err, errEnd) {
			t.Errorf("Run = %v", err)
		}
	})
}

// like matches a pattern in which * stands for any text without a space or slash behind it.
func like(got, want string) bool {
	before, after, star := strings.Cut(want, "*")
	if !star {
		return got == want
	}
	return strings.HasPrefix(got, before) && strings.HasSuffix(got, after)
}

func TestPagesCoverAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		cl := newCluster()
		s := cl.server("Pod", "")
		for i := range 10 {
			s.Put(testobj.Pod([]string{"a", "b"}[i%2] + "/" + fmt.Sprintf("p%d", i)))
		}
		c := newCache(t, cl, cache.Options{})
		defer open(t, c, &corev1.Pod{}).Close()
		stop := start(c)
		if err := c.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		for size := range 12 {
			var seen []string
			token, pages := client.ListOptions{Continue: ""}, 0
			for {
				page, err := client.ListPage[corev1.Pod](ctx, c, client.ListOptions{Limit: int64(size)}, token)
				if err != nil {
					t.Fatal(err)
				}
				if size > 0 && len(page.Items) > size {
					t.Errorf("%d on a page of %d", len(page.Items), size)
				}
				for _, p := range page.Items {
					seen = append(seen, p.Namespace+"/"+p.Name)
				}
				if pages++; page.Continue == "" {
					break
				}
				token = client.ListOptions{Continue: page.Continue}
			}
			if got := strings.Join(seen, " "); got != "a/p0 a/p2 a/p4 a/p6 a/p8 b/p1 b/p3 b/p5 b/p7 b/p9" {
				t.Errorf("pages of %d: %s", size, got)
			}
			if want := (10 + size - 1) / max(size, 1); size > 0 && pages != want {
				t.Errorf("%d pages of %d", pages, size)
			}
		}
		_ = stop()
	})
}

func TestUndeclaredKindsStartNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		cl := newCluster()
		c := newCache(t, cl, cache.Options{})
		stop := start(c)
		var undeclared *cache.UndeclaredError
		if _, err := client.Get[corev1.Secret](ctx, c, object.Key{Namespace: "a", Name: "s"}); !errors.As(err, &undeclared) || undeclared.Kind != kind("Secret") {
			t.Errorf("Get = %v", err)
		}
		for _, err := range client.List[corev1.ConfigMap](ctx, c) {
			if !errors.As(err, &undeclared) || undeclared.Kind != kind("ConfigMap") {
				t.Errorf("List = %v", err)
			}
		}
		var unknown *object.UnknownKindError
		if _, err := client.Get[unstructured.Unstructured](ctx, c, object.Key{Name: "x"}); !errors.As(err, &unknown) {
			t.Errorf("unstructured without kind = %v", err)
		}
		synctest.Wait()
		if n := cl.watches(); n != 0 {
			t.Errorf("%d watches were started", n)
		}
		meta := &metav1.PartialObjectMetadata{}
		meta.SetGroupVersionKind(kind("Secret"))
		h := open(t, c, meta)
		if err := c.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Get[corev1.Secret](ctx, c, object.Key{Namespace: "a", Name: "s"}); !errors.As(err, &undeclared) || !undeclared.MetadataOnly {
			t.Errorf("Get of whole objects from metadata = %v", err)
		}
		if _, err := client.Get[metav1.PartialObjectMetadata](ctx, c, object.Key{Namespace: "a", Name: "s"}, client.OfKind(kind("Secret"))); !apierrors.IsNotFound(err) {
			t.Errorf("Get of metadata = %v", err)
		}
		h.Close()
		synctest.Wait()
		if n := cl.watches(); n != 0 {
			t.Errorf("%d watches after the last handle was closed", n)
		}
		_ = stop()
	})
}

func TestFirstReadOpensAKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		cl := newCluster()
		cl.server("Pod", "").Put(testobj.Pod("a/p"))
		cl.server("Service", "").Refuse(errors.New("boom"))
		c := newCache(t, cl, cache.Options{Kinds: []cache.KindOptions{
			{Kind: kind("Pod"), OpenOnRead: true}, {Kind: kind("Service"), OpenOnRead: true},
		}})
		stop := start(c)
		if p, err := client.Get[corev1.Pod](ctx, c, object.Key{Namespace: "a", Name: "p"}); err != nil || p.Name != "p" {
			t.Errorf("Get = %v, %v", p, err)
		}
		if got := names(client.List[corev1.Pod](ctx, c)); got != "a/p" {
			t.Errorf("List = %s", got)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := client.Get[corev1.Service](short, c, object.Key{Namespace: "a", Name: "s"})
		var unsynced *informer.NotSyncedError
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &unsynced) || !strings.Contains(err.Error(), "boom") {
			t.Errorf("Get of a kind that does not sync = %v", err)
		}
		_ = stop()
	})
}

// TestMetadataIsReadWhereItIsWatched opens a kind as metadata, then as whole objects, which do not
// sync. Reads of metadata use the watch of metadata.
func TestMetadataIsReadWhereItIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster()
		cl.server("Pod", "metadata-only").Put(testobj.Pod("a/p", testobj.OnNode("n1")))
		cl.server("Pod", "").Refuse(errors.New("boom"))
		c := newCache(t, cl, cache.Options{})
		stop := start(c)
		meta := &metav1.PartialObjectMetadata{}
		meta.SetGroupVersionKind(kind("Pod"))
		first := open(t, c, meta)
		if err := c.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		open(t, c, &corev1.Pod{})
		if second := open(t, c, meta); second.Informer() != first.Informer() {
			t.Error("metadata is watched in two places")
		}
		m, err := client.Get[metav1.PartialObjectMetadata](t.Context(), c, object.Key{Namespace: "a", Name: "p"}, client.OfKind(kind("Pod")))
		if err != nil || m.Name != "p" {
			t.Errorf("Get = %v, %v", m, err)
		}
		_ = stop()
	})
}

// TestMetadataIsNotTransformed opens a kind with a transform on its Go type as metadata only.
func TestMetadataIsNotTransformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster()
		cl.server("Pod", "metadata-only").Put(testobj.Pod("a/p", testobj.OnNode("n1")))
		c := newCache(t, cl, cache.Options{Kinds: []cache.KindOptions{{
			Kind: kind("Pod"), Transform: informer.Transform(func(p *corev1.Pod) error { p.Spec = corev1.PodSpec{}; return nil }),
		}}})
		meta := &metav1.PartialObjectMetadata{}
		meta.SetGroupVersionKind(kind("Pod"))
		open(t, c, meta)
		stop := start(c)
		if err := c.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		m, err := client.Get[metav1.PartialObjectMetadata](t.Context(), c, object.Key{Namespace: "a", Name: "p"}, client.OfKind(kind("Pod")))
		if err != nil || m.Name != "p" {
			t.Errorf("Get = %v, %v", m, err)
		}
		_ = stop()
	})
}

func TestOnlyHeldNamespacesAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		cl := newCluster()
		cl.server("Pod", "namespace=a").Put(testobj.Pod("a/p1", testobj.OnNode("n1")))
		cl.server("Pod", "namespace=b").Put(testobj.Pod("b/p2", testobj.OnNode("n1")))
		cl.server("Node", "").Put(testobj.Node("n1"))
		cl.server("Service", "namespace=c").Put(testobj.Service("c/s"))
		c := newCache(t, cl, cache.Options{
			Namespaces: []string{"b", "a", "b"},
			Kinds:      []cache.KindOptions{{Kind: kind("Service"), Namespaces: []string{"c"}}},
		})
		if err := c.AddIndex(kind("Pod"), "spec.nodeName", informer.IndexPath("spec.nodeName")); err != nil {
			t.Fatal(err)
		}
		pods := open(t, c, &corev1.Pod{})
		open(t, c, &corev1.Node{})
		open(t, c, &corev1.Service{})
		var told []string
		sub, err := pods.Subscribe("source", func(ch store.Change) { told = append(told, ch.Key.String()) })
		if err != nil {
			t.Fatal(err)
		}
		stop := start(c)
		if err := c.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		<-sub.Synced()
		if len(told) != 2 || len(pods.Informers()) != 2 {
			t.Errorf("told %v by %d informers", told, len(pods.Informers()))
		}
		for _, in := range pods.Informers() {
			if err := in.State().Err; err != nil {
				t.Error(err)
			}
		}
		var other *informer.NamespaceError
		if _, err := client.Get[corev1.Pod](ctx, c, object.Key{Namespace: "c", Name: "p"}); !errors.As(err, &other) ||
			other.Namespace != "c" || strings.Join(other.Held, " ") != "a b" {
			t.Errorf("Get from another namespace = %v", err)
		}
		if got := names(client.List[corev1.Pod](ctx, c, client.InNamespace("c"))); !strings.HasPrefix(got, "error: Pod of namespace") {
			t.Errorf("List of another namespace = %s", got)
		}
		if got := names(client.List[corev1.Pod](ctx, c, client.MatchingFields{"spec.nodeName": "n1"})); got != "a/p1 b/p2" {
			t.Errorf("List of all = %s", got)
		}
		if got := names(client.List[corev1.Pod](ctx, c, client.InNamespace("b"))); got != "b/p2" {
			t.Errorf("List of one = %s", got)
		}
		if got := names(client.List[corev1.Node](ctx, c)); got != "n1" {
			t.Errorf("List of a cluster-scoped kind = %s", got)
		}
		if got := names(client.List[corev1.Service](ctx, c)); got != "c/s" {
			t.Errorf("List of a kind with its own namespaces = %s", got)
		}
		page, err := client.ListPage[corev1.Pod](ctx, c, client.ListOptions{Limit: 1})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("page %v, %v", page, err)
		}
		if page, err = client.ListPage[corev1.Pod](ctx, c, client.ListOptions{Limit: 1}, client.ListOptions{Continue: page.Continue}); err != nil ||
			len(page.Items) != 1 || page.Items[0].Name != "p2" || page.Continue != "" {
			t.Errorf("second page %+v, %v", page, err)
		}
		sub.Close()
		sub.Close()
		if n := len(c.Watches()); n != 4 {
			t.Errorf("%d watches", n)
		}
		_ = stop()
	})
}

// A subscription that is never closed ends with the cache: the bubble ends only when every
// goroutine in it has ended.
func TestSubscriptionsEndWithTheCache(t *testing.T) {
	for name, namespaces := range map[string][]string{"one": nil, "two": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCache(t, newCluster(), cache.Options{Namespaces: namespaces})
				h := open(t, c, &corev1.Pod{})
				stop := start(c)
				sub, err := h.Subscribe("x", func(store.Change) {})
				if err != nil {
					t.Fatal(err)
				}
				<-sub.Synced()
				_ = stop()
				// The cache never runs and never syncs; the subscription is dropped.
				if _, err := h.Subscribe("y", func(store.Change) {}); err != nil {
					t.Fatal(err)
				}
				h.Close()
			})
		})
	}
}

func TestCacheRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		cl := newCluster()
		s := cl.server("Pod", "")
		c := newCache(t, cl, cache.Options{})
		if err := cache.IndexField(c, "node", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} }); err != nil {
			t.Fatal(err)
		}
		h := open(t, c, &corev1.Pod{})
		for run := range 3 {
			s.Put(testobj.Pod("a/"+fmt.Sprintf("p%d", run), testobj.OnNode("n1")))
			var unsynced *informer.NotSyncedError
			if _, err := client.Get[corev1.Pod](ctx, c, object.Key{Namespace: "a", Name: "p0"}); !errors.As(err, &unsynced) {
				t.Errorf("a read while stopped: %v", err)
			}
			stop := start(c)
			n := 0
			sub, err := h.Subscribe("source", func(store.Change) { n++ })
			if err != nil {
				t.Fatal(err)
			}
			if err := c.WaitForSync(ctx); err != nil {
				t.Fatal(err)
			}
			<-sub.Synced()
			if got := names(client.List[corev1.Pod](ctx, c, client.MatchingFields{"node": "n1"})); len(strings.Fields(got)) != run+1 || n != run+1 {
				t.Errorf("run %d: %s, %d changes", run, got, n)
			}
			_ = stop()
			sub.Close()
		}
	})
}

func TestWaitForSyncNamesKindsAndReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster()
		cl.server("Pod", "").Refuse(apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no")))
		c := newCache(t, cl, cache.Options{})
		open(t, c, &corev1.Pod{})
		open(t, c, &corev1.Node{})
		stop := start(c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := c.WaitForSync(ctx)
		var missing *informer.SyncError
		if !errors.As(err, &missing) || len(missing.Missing) != 1 || missing.Missing[0].Kind != kind("Pod") || !apierrors.IsForbidden(err) {
			t.Errorf("WaitForSync = %v", err)
		}
		for _, w := range c.Watches() {
			if (w.State.Err == nil) != (w.Kind.GVK.Kind == "Node") {
				t.Errorf("%s: %v", w.Kind.GVK.Kind, w.State)
			}
		}
		_ = stop()
	})
}

func TestSelectionsHaveTheirOwnWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		cl := newCluster()
		cl.server("Pod", "").Put(testobj.Pod("a/p"))
		cl.server("Pod", "labels=app=web").Put(testobj.Pod("a/web", testobj.Labels("app=web")))
		c := newCache(t, cl, cache.Options{})
		open(t, c, &corev1.Pod{})
		sel, err := labels.Parse("app=web")
		if err != nil {
			t.Fatal(err)
		}
		own, err := c.Open(ctx, &corev1.Pod{}, client.Selection{Labels: sel})
		if err != nil {
			t.Fatal(err)
		}
		stop := start(c)
		if err := c.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		if got := names(client.List[corev1.Pod](ctx, c)); got != "a/p" {
			t.Errorf("reads see %s", got)
		}
		if n := own.Informer().State().Objects; n != 1 {
			t.Errorf("%d objects", n)
		}
		meta := &metav1.PartialObjectMetadata{}
		meta.SetGroupVersionKind(kind("Pod"))
		open(t, c, meta)
		synctest.Wait()
		if n := cl.watches(); n != 2 {
			t.Errorf("%d watches: metadata is served from whole objects", n)
		}
		_ = stop()
	})
}

func TestNewAndIndexesNameTheBadOption(t *testing.T) {
	cl := newCluster()
	for want, o := range map[string]cache.Options{
		"Kinds: /v1, Kind=Pod: is given twice for all namespaces": {Kinds: []cache.KindOptions{{Kind: kind("Pod")}, {Kind: kind("Pod"), Namespaces: []string{"a"}}}},
		"Kinds: /v1, Kind=Pod: is given twice for namespace b": {Kinds: []cache.KindOptions{
			{Kind: kind("Pod"), Namespaces: []string{"a", "b"}}, {Kind: kind("Service")}, {Kind: kind("Pod"), Namespaces: []string{"b", "c"}},
		}},
		`Kinds: /v1, Kind=Pod: "The Shop" is no namespace: `: {Kinds: []cache.KindOptions{{Kind: kind("Pod"), Namespaces: []string{"The Shop"}}}},
		`Namespaces: "a/b" is no namespace: `:                {Namespaces: []string{"a", "a/b"}},
	} {
		if _, err := cache.New(cl.connection(), o); !is[*option.Error](err) || !strings.HasPrefix(err.Error(), "cache.Options: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	nodes := newCache(t, cl, cache.Options{Kinds: []cache.KindOptions{{Kind: kind("Node"), Namespaces: []string{"a"}}, {Kind: kind("Node"), Namespaces: []string{"b"}}}})
	if _, err := nodes.Open(t.Context(), &corev1.Node{}, client.Selection{}); !is[*option.Error](err) {
		t.Errorf("a kind without namespaces, given by namespace: %v", err)
	}
	if _, err := cache.New(cache.Connection{}, cache.Options{}); err == nil {
		t.Error("a cache without a connection")
	}
	c := newCache(t, cl, cache.Options{})
	f := func(p *corev1.Pod) []string { return nil }
	if err := cache.IndexField(c, "x", f); err != nil {
		t.Fatal(err)
	}
	var exists *store.IndexExistsError
	if err := cache.IndexField(c, "x", f); !errors.As(err, &exists) || exists.Index != "x" {
		t.Errorf("an index twice: %v", err)
	}
	if err := cache.IndexField(c, "", f); !errors.Is(err, store.ErrBadIndex) {
		t.Errorf("an index without a name: %v", err)
	}
	if err := cache.IndexField[corev1.Pod](c, "y", nil); !errors.Is(err, store.ErrBadIndex) {
		t.Errorf("an index without a function: %v", err)
	}
	var unknown *object.UnknownKindError
	if err := cache.IndexField(c, "z", func(*unstructured.Unstructured) []string { return nil }); !errors.As(err, &unknown) {
		t.Errorf("an index of unstructured objects: %v", err)
	}
	if err := c.AddIndex(kind("Pod"), "spec.nothing", informer.IndexPath("spec.nothing")); err == nil {
		t.Error("an index of a field that does not exist")
	}
	if _, err := c.Open(t.Context(), &unstructured.Unstructured{}, client.Selection{}); !errors.As(err, &unknown) {
		t.Errorf("Open of a kind without a name: %v", err)
	}
}
