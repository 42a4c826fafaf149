package informer_test

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
)

// metas yields the metadata of what an informer holds.
func metas(t *testing.T, in *informer.Informer) iter.Seq[*metav1.PartialObjectMetadata] {
	l, err := informer.NewLister[metav1.PartialObjectMetadata](in)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(*metav1.PartialObjectMetadata) bool) {
		for o, err := range l.All("", nil) {
			if err != nil {
				t.Error(err)
				return
			}
			if !yield(o) {
				return
			}
		}
	}
}

func lister(t *testing.T, in *informer.Informer) informer.Lister[corev1.ConfigMap] {
	t.Helper()
	l, err := informer.NewLister[corev1.ConfigMap](in)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// names joins the names of a sequence, or its error.
func names(all iter.Seq2[*corev1.ConfigMap, error]) string {
	var found []string
	for o, err := range all {
		if err != nil {
			return err.Error()
		}
		found = append(found, o.Name)
	}
	return strings.Join(found, " ")
}

func TestReadsBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Refuse(apierrors.NewForbidden(configMaps.Resource.GroupResource(), "", errors.New("no")))
		in := newInformer(t, s)
		l := lister(t, in)
		check := func(when string, err error, phase reflector.Phase) {
			t.Helper()
			var unsynced *informer.NotSyncedError
			if !errors.As(err, &unsynced) || !errors.Is(err, object.ErrNoAnswer) || unsynced.Kind != configMapGVK || unsynced.State.Watch.Phase != phase {
				t.Errorf("%s: %v", when, err)
			}
		}
		_, err := l.Get(key("a"))
		check("not started", err, reflector.Idle)
		stop := start(t, in)
		synctest.Wait()
		_, err = l.Get(key("a"))
		check("Get", err, reflector.Forbidden)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("the error does not say why: %v", err)
		}
		_, err = l.List("", nil)
		check("List", err, reflector.Forbidden)
		for _, err := range l.Headers("", nil) {
			check("Headers", err, reflector.Forbidden)
		}
		_ = stop()
	})
}

func TestListerSelectsByKeyNamespaceLabelAndIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		for _, name := range []string{"a", "b", "c"} {
			s.Put(configMap(name, map[string]string{"a": "1", "b": "2", "c": "2"}[name]))
		}
		other := configMap("d", "2")
		other.Namespace = "other"
		s.Put(other)
		in := newInformer(t, s)
		if err := in.AddIndex("data[value]", informer.IndexPath("data[value]")); err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		synctest.Wait()
		if err := in.AddIndex("first", informer.IndexFunc(func(o *corev1.ConfigMap) []string { return []string{o.Name[:1]} })); err != nil {
			t.Fatal(err)
		}
		l := lister(t, in)

		got, err := l.Get(key("b"))
		if err != nil || got.Data["value"] != "2" || got.Kind != "ConfigMap" {
			t.Fatalf("Get = %v, %v", got, err)
		}
		got.Data["value"] = "spoiled"
		got.Labels["value"] = "spoiled"
		if again, err := l.Get(key("b")); err != nil || again.Data["value"] != "2" || again.Labels["value"] != "2" {
			t.Errorf("a copy was changed, and the store with it: %v, %v", again, err)
		}

		if h, err := l.Header(key("b")); err != nil || h.Labels["value"] != "2" {
			t.Errorf("Header = %v, %v", h, err)
		}
		if _, err := l.Header(key("x")); !apierrors.IsNotFound(err) {
			t.Errorf("Header of nothing = %v", err)
		}

		value := ""
		look := func(e *store.Entry) error { value, _ = e.Label("value"); return nil }
		if err := in.Look(key("b"), look); err != nil || value != "2" {
			t.Errorf("Look = %q, %v", value, err)
		}
		if err := in.Look(key("x"), look); !apierrors.IsNotFound(err) {
			t.Errorf("Look at nothing = %v", err)
		}
		own := errors.New("one's own")
		if err := in.Look(key("b"), func(*store.Entry) error { return own }); err != own {
			t.Errorf("Look with a function that fails = %v", err)
		}

		_, err = l.Get(key("x"))
		var missing *client.NotFoundError
		if !errors.As(err, &missing) || !apierrors.IsNotFound(err) || missing.Resource != configMaps.Resource ||
			missing.Key != key("x") || err.Error() != `get configmaps ns/x: configmaps "x" not found` {
			t.Errorf("Get of nothing = %v", err)
		}
		two := labels.SelectorFromSet(labels.Set{"value": "2"})
		list, err := l.List("ns", two)
		if err != nil || len(list) != 2 || list[0].Name != "b" || list[1].Name != "c" {
			t.Errorf("List = %v, %v", list, err)
		}
		for _, tc := range []struct{ name, got, want string }{
			{"all", names(l.All("", nil)), "a b c d"},
			{"namespace", names(l.All("other", nil)), "d"},
			{"labels", names(l.All("", two)), "b c d"},
			{"index", names(l.Select(store.Is("data[value]", "2"))), "b c d"},
			{"and", names(l.Select(store.And(store.Is("data[value]", "2"), store.Is("first", "c")))), "c"},
			{"or", names(l.Select(store.Or(store.Is("first", "a"), store.Is("first", "c")))), "a c"},
			{"unknown index", names(l.Select(store.Is("nothing", "c"))), `configmaps have no index "nothing"`},
		} {
			if tc.got != tc.want {
				t.Errorf("%s: %q, want %q", tc.name, tc.got, tc.want)
			}
		}
		n := 0
		for h, err := range l.Headers("", two) {
			if err != nil || h.Labels["value"] != "2" {
				t.Errorf("header %v, %v", h, err)
			}
			n++
		}
		if n != 3 {
			t.Errorf("%d headers", n)
		}
		untyped, err := informer.NewLister[unstructured.Unstructured](in)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := untyped.Get(key("a")); err != nil || u.GetKind() != "ConfigMap" {
			t.Errorf("unstructured: %v, %v", u, err)
		}
		var mismatch *informer.TypeMismatchError
		if _, err := informer.NewLister[corev1.Pod](in); !errors.As(err, &mismatch) || mismatch.Kind != configMapGVK {
			t.Errorf("a lister of another type: %v", err)
		}
		var taken *store.IndexExistsError
		if err := in.AddIndex("data[value]", informer.IndexPath("data[value]")); !errors.As(err, &taken) {
			t.Errorf("the same index again: %v", err)
		}
		if err := in.AddIndex("nil", informer.IndexFunc[corev1.ConfigMap](nil)); !errors.Is(err, store.ErrBadIndex) {
			t.Errorf("no index function: %v", err)
		}
		_ = stop()
	})
}

func TestClusterScopedIgnoresNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		o := configMap("a", "1")
		o.Namespace = ""
		s.Put(o)
		in := newInformer(t, s, func(o *informer.Options) { o.Kind.ClusterScoped = true })
		stop := start(t, in)
		synctest.Wait()
		l := lister(t, in)
		if o, err := l.Get(object.Key{Namespace: "any", Name: "a"}); err != nil || o.Name != "a" {
			t.Errorf("Get = %v, %v", o, err)
		}
		if got := names(l.All("any", nil)); got != "a" {
			t.Errorf("All = %q", got)
		}
		_ = stop()
	})
}

// Without a scheme a wrong type is found out with the first object, which is not to blame.
func TestWrongTypeWithoutScheme(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		in := newInformer(t, s, func(o *informer.Options) { o.Scheme = nil })
		l, err := informer.NewLister[corev1.Secret](in)
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		synctest.Wait()
		var mismatch *informer.TypeMismatchError
		if _, err := l.Get(key("a")); !errors.As(err, &mismatch) || len(in.Rejected()) != 0 {
			t.Errorf("Get = %v, rejected %v", err, in.Rejected())
		}
		_ = stop()
	})
}
