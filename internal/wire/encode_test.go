package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/wire"
)

func TestEncodeEqualsStock(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		for seed := range int64(100) {
			obj := new(appsv1.Deployment)
			randomObjects(seed).Fill(obj)
			obj.TypeMeta = metav1.TypeMeta{}
			got, contentType, err := wire.Encode(obj, deploy.GVK, enc)
			if err != nil {
				t.Fatal(err)
			}
			if !obj.GroupVersionKind().Empty() {
				t.Fatal("the object was changed")
			}
			if parsed, _, err := wire.ParseContentType(contentType); err != nil || parsed != enc {
				t.Fatalf("content type %q", contentType)
			}
			obj.SetGroupVersionKind(deploy.GVK)
			if want := stock(t, enc, obj); !bytes.Equal(want, got) {
				t.Fatalf("seed %d:\n%q, want\n%q", seed, got, want)
			}
		}
	})
}

func TestEncodeUnstructured(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"n": int64(1)}}}
	got, _, err := wire.Encode(u, things.GVK, wire.JSON)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"n":1}}` + "\n"; string(got) != want {
		t.Errorf("got %s", got)
	}
	if len(u.Object) != 2 {
		t.Error("the object was changed")
	}
}

func TestEncodeRefuses(t *testing.T) {
	var typeErr *wire.TypeError
	var kindErr *wire.KindError
	for _, c := range []struct {
		name string
		obj  runtime.Object
		enc  wire.Encoding
		want any
	}{
		{"nil", nil, wire.JSON, &typeErr},
		{"nil pointer", (*corev1.Pod)(nil), wire.Protobuf, &typeErr},
		{"unstructured as protobuf", new(unstructured.Unstructured), wire.Protobuf, &typeErr},
		{"custom type as protobuf", new(Thing), wire.Protobuf, &typeErr},
		{"says another kind", smallDeploymentOfKind(), wire.JSON, &kindErr},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := wire.Encode(c.obj, pods.GVK, c.enc); !errors.As(err, c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func smallDeploymentOfKind() *appsv1.Deployment {
	d := smallDeployment("a")
	d.SetGroupVersionKind(deploy.GVK)
	return d
}

func TestHasProtobuf(t *testing.T) {
	for _, c := range []struct {
		of   any
		want bool
	}{
		{new(corev1.Pod), true},
		{new(corev1.PodList), true},
		{new(autoscalingv1.Scale), true},
		{new(metav1.PartialObjectMetadata), true},
		{new(unstructured.Unstructured), false},
		{new(Thing), false},
		{new(Pod), false},
		{new(int), false},
	} {
		if got := wire.HasProtobuf(reflect.TypeOf(c.of)); got != c.want {
			t.Errorf("%T: %v", c.of, got)
		}
	}
	if wire.HasProtobuf(nil) {
		t.Error("nil")
	}
}
