package cache_test

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Held returns the object of that version, from whole objects without a transform.
func TestHeldReturnsThatVersionOnly(t *testing.T) {
	transform := func(object.Object) error { return nil }
	for _, tt := range []struct {
		name string
		o    cache.Options
		want bool
	}{
		{"by default", cache.Options{}, true},
		{"of some namespaces", cache.Options{Namespaces: []string{"a", "b"}}, true},
		{"of another namespace", cache.Options{Namespaces: []string{"b"}}, false},
		{"transformed", cache.Options{Kinds: []cache.KindOptions{{Kind: kind("Pod"), Transform: transform}}}, false},
		{"transformed at last", cache.Options{Configure: func(o *informer.Options) { o.Transform = transform }}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := newCluster()
				p := testobj.Pod("a/p", testobj.OnNode("n"))
				for _, selection := range []string{"", "namespace=a"} {
					cl.server("Pod", selection).Put(p)
				}
				made := newCache(t, cl, tt.o)
				held := func(key object.Key, uid apitypes.UID, version string) bool {
					body, protobuf, ok := made.Held(kind("Pod"), key, uid, version)
					if !ok {
						return false
					}
					raw := wire.Raw{Kind: &wire.Kind{GVK: kind("Pod")}, Encoding: wire.JSON, Bytes: body}
					if protobuf {
						raw.Encoding = wire.Protobuf
					}
					var got corev1.Pod
					if err := raw.Decode(&got); err != nil || got.Name != "p" || got.Spec.NodeName != "n" {
						t.Errorf("%+v %v", got, err)
					}
					clear(body)
					return true
				}
				if held(object.KeyOf(p), "", "") {
					t.Error("a kind that nobody has opened")
				}
				defer open(t, made, &corev1.Pod{}).Close()
				stop := start(made)
				defer func() { _ = stop() }()
				if err := made.WaitForSync(t.Context()); err != nil {
					t.Fatal(err)
				}
				var is corev1.Pod
				if tt.want {
					if err := made.Get(t.Context(), object.KeyOf(p), &is, client.GetOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					if got := held(object.KeyOf(p), is.UID, is.ResourceVersion); got != tt.want {
						t.Errorf("held %v", got)
					}
				}
				if held(object.KeyOf(p), is.UID, "0") || held(object.KeyOf(p), "other", is.ResourceVersion) || held(object.Key{Namespace: "a", Name: "q"}, is.UID, is.ResourceVersion) {
					t.Error("another version, object or key")
				}
			})
		})
	}
}
