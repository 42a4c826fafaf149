package informer

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// TestTransformKeepsTheEncoding: what goes in as protobuf comes out as protobuf, and what has no
// Go type is unstructured in between.
func TestTransformKeepsTheEncoding(t *testing.T) {
	typed, untyped := runtime.NewScheme(), runtime.NewScheme()
	if err := corev1.AddToScheme(typed); err != nil {
		t.Fatal(err)
	}
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "1"}}
	proto, err := configMap.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	json := []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"1"},"unknown":{"x":1}}`)
	set := func(o object.Object) error { o.SetLabels(map[string]string{"set": "yes"}); return nil }
	for name, raw := range map[string]wire.Raw{
		"protobuf": {Kind: &wire.Kind{GVK: gvk, Scheme: typed}, Encoding: wire.Protobuf, Bytes: proto},
		"json":     {Kind: &wire.Kind{GVK: gvk, Scheme: typed}, Encoding: wire.JSON, Bytes: json},
		"untyped":  {Kind: &wire.Kind{GVK: gvk, Scheme: untyped}, Encoding: wire.JSON, Bytes: json},
		"metadata": {Kind: &wire.Kind{GVK: gvk, Scheme: typed, MetadataOnly: true}, Encoding: wire.Protobuf, Bytes: proto},
	} {
		t.Run(name, func(t *testing.T) {
			in := &Informer{o: Options{Transform: set}}
			e, err := store.NewEntry(raw)
			if err != nil {
				t.Fatal(err)
			}
			got, err := in.prepare(e)
			if err != nil {
				t.Fatal(err)
			}
			if got.Raw().Encoding != raw.Encoding || got.Header().Labels["set"] != "yes" || got.Header().UID != "u" {
				t.Errorf("%v, header %+v", got.Raw().Encoding, got.Header())
			}
			if name == "untyped" {
				u := &unstructured.Unstructured{}
				if err := got.Decode(u); err != nil || u.Object["unknown"] == nil {
					t.Errorf("unknown fields are lost: %v, %v", u.Object, err)
				}
			}
		})
	}
}
