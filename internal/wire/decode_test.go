package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

func TestDecodeEqualsStock(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		rapid.Check(t, func(rt *rapid.T) {
			in := new(corev1.Pod)
			randomObjects(rapid.Int64().Draw(rt, "seed")).Fill(in)
			r := raw(t, enc, pods, in)
			s := runtime.Decoder(stockJSON)
			if enc == wire.Protobuf {
				s = stockProto
			}
			want, _, err := s.Decode(stock(t, enc, in), nil, nil)
			if err != nil {
				rt.Fatal(err)
			}
			want.GetObjectKind().SetGroupVersionKind(pods.GVK)
			got := bigPod(7) // what was there before must not show
			if err := r.Decode(got); err != nil {
				rt.Fatal(err)
			}
			if d := diffObjects(want, got); d != "" {
				rt.Fatal(d)
			}
		})
	})
}

func TestDecodeUnstructured(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		r := raw(t, enc, pods, bigPod(1))
		got := &unstructured.Unstructured{Object: map[string]any{"old": "x"}}
		if err := r.Decode(got); err != nil {
			t.Fatal(err)
		}
		if got.GroupVersionKind() != pods.GVK {
			t.Errorf("kind %v", got.GroupVersionKind())
		}
		back := new(corev1.Pod)
		b, err := json.Marshal(got.Object)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, back); err != nil {
			t.Fatal(err)
		}
		if d := diffObjects(typedPod(1), back); d != "" {
			t.Error(d)
		}
	})
}

func TestDecodeUnstructuredKeepsWholeNumbers(t *testing.T) {
	r := wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: thing("a", `,"n":9007199254740993,"f":1.5,"unknown":{"deep":[1]}`)}
	got := new(unstructured.Unstructured)
	if err := r.Decode(got); err != nil {
		t.Fatal(err)
	}
	if got.Object["n"] != int64(9007199254740993) || got.Object["f"] != 1.5 {
		t.Errorf("%v", got.Object)
	}
}

func TestDecodeMetadata(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		r := raw(t, enc, pods, bigPod(1))
		got := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{GenerateName: "old", Finalizers: []string{"old"}}}
		if err := r.Decode(got); err != nil {
			t.Fatal(err)
		}
		want := &metav1.PartialObjectMetadata{ObjectMeta: bigPod(1).ObjectMeta}
		want.SetGroupVersionKind(pods.GVK)
		if d := diffObjects(want, got); d != "" {
			t.Error(d)
		}
	})
}

func TestDecodeOfListItemsSetsTheKind(t *testing.T) {
	r := wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"a"}}`)}
	for _, into := range []object.Object{new(corev1.Pod), new(unstructured.Unstructured), new(metav1.PartialObjectMetadata)} {
		if err := r.Decode(into); err != nil {
			t.Fatal(err)
		}
		if got := into.GetObjectKind().GroupVersionKind(); got != pods.GVK {
			t.Errorf("%T: %v", into, got)
		}
	}
}

// Thing is a custom resource with a Go type that the scheme does not know.
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size  int32             `json:"size"`
		Names []string          `json:"names"`
		More  map[string]string `json:"more"`
	} `json:"spec"`
}

func (t *Thing) DeepCopyObject() runtime.Object { c := *t; return &c }

// Pod has the name of a kind of which it is not the type.
type Pod struct{ corev1.Pod }

func TestDecodeIntoWrongType(t *testing.T) {
	unknown := &wire.Kind{GVK: pods.GVK}
	metadata := &wire.Kind{GVK: pods.GVK, Scheme: types, MetadataOnly: true}
	encoded := map[wire.Encoding][]byte{}
	for _, enc := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		encoded[enc] = raw(t, enc, pods, bigPod(1)).Bytes
	}
	for _, c := range []struct {
		name string
		kind *wire.Kind
		enc  wire.Encoding
		into object.Object
	}{
		{"nil", pods, wire.JSON, nil},
		{"nil pointer", pods, wire.JSON, (*corev1.Pod)(nil)},
		{"nil unstructured", pods, wire.Protobuf, (*unstructured.Unstructured)(nil)},
		{"type of another kind", pods, wire.JSON, new(appsv1.Deployment)},
		{"type of another kind, protobuf", pods, wire.Protobuf, new(corev1.Service)},
		{"unknown type", pods, wire.Protobuf, new(Thing)},
		{"known type, unknown kind", things, wire.JSON, new(corev1.Pod)},
		{"no scheme, other name", unknown, wire.Protobuf, new(corev1.Service)},
		{"no scheme, inherited methods", unknown, wire.Protobuf, new(Pod)},
		{"no scheme, unstructured", unknown, wire.Protobuf, new(unstructured.Unstructured)},
		{"only metadata", metadata, wire.Protobuf, new(corev1.Pod)},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := wire.Raw{Kind: c.kind, Encoding: c.enc, Bytes: encoded[c.enc]}.Decode(c.into)
			var wrong *wire.TypeError
			if !errors.As(err, &wrong) || wrong.Kind != c.kind.GVK || wrong.Type != reflect.TypeOf(c.into) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDecodeCustomType(t *testing.T) {
	r := wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: thing("a", `,"spec":{"size":3}`)}
	got := new(Thing)
	if err := r.Decode(got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "a" || got.Spec.Size != 3 || got.Kind != "Thing" {
		t.Errorf("%+v", got)
	}
}

func TestDecodeBadObjects(t *testing.T) {
	for _, c := range []struct {
		name string
		raw  wire.Raw
	}{
		{"zero Raw", wire.Raw{}},
		{"no kind", wire.Raw{Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"a","namespace":"ns"}}`)}},
		{"no encoding", wire.Raw{Kind: pods}},
		{"null", wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte("null")}},
		{"array", wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte("[]")}},
		{"nothing", wire.Raw{Kind: pods, Encoding: wire.JSON}},
		{"another kind", wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: thing("a", "")}},
		{"bad UTF-8", wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"a` + "\xff" + `"}}`)}},
		{"cut short", wire.Raw{Kind: pods, Encoding: wire.Protobuf, Bytes: []byte("\x0a\x7f")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, into := range []object.Object{new(corev1.Pod), new(unstructured.Unstructured), new(metav1.PartialObjectMetadata)} {
				if err := c.raw.Decode(into); !errors.As(err, new(*wire.DecodeError)) {
					t.Errorf("%T: got %v", into, err)
				}
			}
		})
	}
	r := wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"a","namespace":"ns"},"spec":5}`)}
	var bad *wire.DecodeError
	if err := r.Decode(new(corev1.Pod)); !errors.As(err, &bad) || bad.Key != (object.Key{Namespace: "ns", Name: "a"}) {
		t.Errorf("got %v", err)
	}
}

func TestDecodeSharesNothing(t *testing.T) {
	secrets := &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("Secret"), Scheme: types}
	in := &corev1.Secret{ObjectMeta: bigPod(1).ObjectMeta, Data: map[string][]byte{"k": []byte("value")}}
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		r := raw(t, enc, secrets, in)
		got := new(corev1.Secret)
		if err := r.Decode(got); err != nil {
			t.Fatal(err)
		}
		clear(r.Bytes)
		want := in.DeepCopy()
		want.SetGroupVersionKind(secrets.GVK)
		if d := diffObjects(want, got); d != "" {
			t.Error(d)
		}
	})
}

// Nothing of a small object that is handed over is kept: its bytes may be used again.
func TestDecodeOwned(t *testing.T) {
	for _, enc := range []wire.Encoding{wire.Protobuf, wire.JSON} {
		for _, into := range []object.Object{new(corev1.Pod), new(metav1.PartialObjectMetadata), new(unstructured.Unstructured)} {
			want := reflect.New(reflect.TypeOf(into).Elem()).Interface().(object.Object)
			r := raw(t, enc, pods, bigPod(1))
			if err := r.Decode(want); err != nil {
				t.Fatal(err)
			}
			r.Bytes = bytes.Clone(r.Bytes)
			if err := r.DecodeOwned(into); err != nil {
				t.Fatalf("%v into %T: %v", enc, into, err)
			}
			if !reflect.DeepEqual(into, want) {
				t.Errorf("%v into %T: %s", enc, into, cmp.Diff(want, into))
			}
			if clear(r.Bytes); len(r.Bytes) > wire.SmallObject || !reflect.DeepEqual(into, want) {
				t.Errorf("%v into %T: %d bytes are still used", enc, into, len(r.Bytes))
			}
		}
	}
	r := raw(t, wire.JSON, pods, bigPod(1))
	r.Bytes = []byte(`{"kind":"Secret","apiVersion":"v1"}`)
	if err := r.DecodeOwned(new(corev1.Pod)); !errors.As(err, new(*wire.DecodeError)) {
		t.Error(err)
	}
}
