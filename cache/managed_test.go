package cache_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/fieldsv1"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/servertest"
)

// managed returns the managedFields of an object, by manager.
func managed(o object.Object) map[string]string {
	found := map[string]string{}
	for _, f := range o.GetManagedFields() {
		doc, _ := f.FieldsV1.MarshalJSON()
		found[f.Manager] = string(doc)
	}
	return found
}

// managedFields are removed, unless an option keeps them.
func TestManagedFieldsAreRemovedUnlessKept(t *testing.T) {
	for _, c := range []struct {
		name string
		o    cache.Options
		want string // keeps them: whole Pods, metadata of Pods, Nodes
	}{
		{"by default", cache.Options{}, ""},
		{"all kept", cache.Options{KeepManagedFields: true}, "pod metadata node"},
		{"of one kind", cache.Options{Kinds: []cache.KindOptions{{Kind: kind("Pod"), KeepManagedFields: true}}}, "pod metadata"},
		{"all, whatever a kind says", cache.Options{KeepManagedFields: true, Kinds: []cache.KindOptions{{Kind: kind("Pod")}}}, "pod metadata node"},
		{"Configure comes last", cache.Options{Configure: func(o *informer.Options) { o.KeepManagedFields = o.Kind.GVK.Kind == "Node" }}, "node"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := newCluster()
				by := []metav1.ManagedFieldsEntry{{Manager: "m", FieldsType: "FieldsV1", FieldsV1: fieldsv1.New(`{}`)}}
				p := testobj.Pod("a/p")
				p.ManagedFields = by
				cl.server("Pod", "").Put(p)
				cl.server("Pod", "metadata-only").Put(&metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta})
				cl.server("Node", "").Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ManagedFields: by}})
				made := newCache(t, cl, c.o)
				light := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
				defer open(t, made, light).Close()
				defer open(t, made, &corev1.Pod{}).Close()
				defer open(t, made, &corev1.Node{}).Close()
				stop := start(made)
				defer func() { _ = stop() }()
				if err := made.WaitForSync(t.Context()); err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, o := range []struct {
					name string
					key  object.Key
					into object.Object
				}{{"pod", object.KeyOf(p), &corev1.Pod{}}, {"metadata", object.KeyOf(p), light}, {"node", object.Key{Name: "n"}, &corev1.Node{}}} {
					if err := made.Get(t.Context(), o.key, o.into, client.GetOptions{}); err != nil {
						t.Fatal(err)
					}
					if o.into.GetName() != o.key.Name {
						t.Errorf("%s is %v", o.name, o.into)
					}
					if len(managed(o.into)) == 0 {
						continue
					}
					if got != "" {
						got += " "
					}
					got += o.name
				}
				if got != c.want {
					t.Errorf("kept for %q, want %q", got, c.want)
				}
			})
		})
	}
}

// A write of an object that was read without managedFields leaves those of others on the server
// unchanged, and adds our own. That holds for an update, an update of the status, a patch of the
// changes, and an apply.
func TestLiveWritesLeaveManagedFields(t *testing.T) {
	p := servertest.Shared(t)
	ns := servertest.Namespace(t, p)
	live := livetest.Client(t, p, client.Options{FieldOwner: "us"})
	c, err := cache.New(cache.Connect(live), cache.Options{Namespaces: []string{ns}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.Open(t.Context(), &corev1.Service{}, client.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	stop := start(c)
	defer func() { _ = stop() }()
	if err := c.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}

	for name, write := range map[string]func(ctx context.Context, s *corev1.Service) (*corev1.Service, error){
		"update": func(ctx context.Context, s *corev1.Service) (*corev1.Service, error) {
			s.Annotations = map[string]string{"us": "1"}
			return client.Update(ctx, live, s)
		},
		"status": func(ctx context.Context, s *corev1.Service) (*corev1.Service, error) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.1.2.3"}}
			return client.UpdateStatus(ctx, live, s)
		},
		"patch": func(ctx context.Context, s *corev1.Service) (*corev1.Service, error) {
			was := s.DeepCopy()
			s.Annotations = map[string]string{"us": "1"}
			return client.Patch(ctx, live, was, client.DiffWithLock(was, s))
		},
		"apply": func(ctx context.Context, s *corev1.Service) (*corev1.Service, error) {
			want := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Annotations: map[string]string{"us": "1"}}}
			return client.Apply(ctx, live, want, "us")
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			before, err := client.Apply(ctx, live, &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
			}, "them")
			if err != nil {
				t.Fatal(err)
			}
			theirs := managed(before)["them"]
			if theirs == "" {
				t.Fatalf("the server keeps no account: %v", before)
			}
			cached := shown(t, c, h, before)
			if len(cached.ManagedFields) > 0 {
				t.Errorf("the cache has %v", managed(cached))
			}
			if _, err := write(ctx, cached); err != nil {
				t.Fatal(err)
			}
			after, err := client.Get[corev1.Service](ctx, live, object.KeyOf(before))
			if err != nil {
				t.Fatal(err)
			}
			all := managed(after)
			if owners := slices.Sorted(maps.Keys(all)); !slices.Equal(owners, []string{"them", "us"}) || all["them"] != theirs {
				t.Errorf("fields of %v; theirs were %s, are %s", owners, theirs, all["them"])
			}
		})
	}
}

// shown waits until the cache has this state of an object.
func shown(t *testing.T, c *cache.Cache, h *cache.Handle, o *corev1.Service) *corev1.Service {
	t.Helper()
	came := make(chan struct{}, 1)
	sub, err := h.Subscribe("shown", func(ch store.Change) {
		if ch.New == nil || ch.Key != object.KeyOf(o) {
			return
		}
		if order, _ := object.CompareVersions(ch.New.Header().ResourceVersion, o.ResourceVersion); order < 0 {
			return
		}
		select {
		case came <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	select {
	case <-came:
	case <-t.Context().Done():
		t.Fatal("the cache does not show it")
	}
	got, err := client.Get[corev1.Service](t.Context(), c, object.KeyOf(o))
	if err != nil {
		t.Fatal(err)
	}
	return got
}
