package wire_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// headerOf is the oracle: the header read from a decoded object.
func headerOf(o metav1.Object) object.Header {
	h := object.Header{
		Key: object.KeyOf(o), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), Generation: o.GetGeneration(),
		Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
	}
	if d := o.GetDeletionTimestamp(); d != nil {
		h.DeletionTimestamp = d.Time
	}
	for _, r := range o.GetOwnerReferences() {
		h.Owners = append(h.Owners, object.Owner{
			APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: r.UID, Controller: r.Controller != nil && *r.Controller,
		})
	}
	return h
}

func diffHeaders(want, got object.Header) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }))
}

func TestHeaderEqualsDecodedMetadata(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		rapid.Check(t, func(rt *rapid.T) {
			random := randomObjects(rapid.Int64().Draw(rt, "seed"))
			var obj object.Object
			kind := rapid.SampledFrom([]*wire.Kind{pods, maps, deploy}).Draw(rt, "kind")
			switch kind {
			case pods:
				obj = new(corev1.Pod)
			case maps:
				obj = new(corev1.ConfigMap)
			case deploy:
				obj = new(appsv1.Deployment)
			}
			random.Fill(obj)
			r := raw(t, enc, kind, obj)
			got, err := r.Header()
			if err != nil {
				rt.Fatal(err)
			}
			decoded := new(metav1.PartialObjectMetadata)
			if err := r.Decode(decoded); err != nil {
				rt.Fatal(err)
			}
			if d := diffHeaders(headerOf(decoded), got); d != "" {
				rt.Fatal(d)
			}
		})
	})
}

func TestHeaderOfJSON(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     object.Header
	}{
		{"case matters", `{"metadata":{"name":"a","Name":"b","NAMESPACE":"c"},"Metadata":{"name":"d"}}`,
			object.Header{Key: object.Key{Name: "a"}}},
		{"last of equal names wins", `{"metadata":{"name":"a","namespace":"n"},"metadata":{"name":"b","labels":{"x":"1"},"labels":{"y":"1","y":"2"}}}`,
			object.Header{Key: object.Key{Name: "b"}, Labels: map[string]string{"y": "2"}}},
		{"null is nothing", `{"metadata":{"name":"a","namespace":null,"labels":null,"annotations":{"k":null},"deletionTimestamp":null,"generation":null,"ownerReferences":null}}`,
			object.Header{Key: object.Key{Name: "a"}, Annotations: map[string]string{"k": ""}}},
		{"escapes", `{"metadata":{"\u006eame":"\u0061\n","labels":{"\ud83d\ude00":"\"q\""}}}`,
			object.Header{Key: object.Key{Name: "a\n"}, Labels: map[string]string{"😀": `"q"`}}},
		{"space", " {\n \"metadata\" : { \"name\" : \"a\" } }\n", object.Header{Key: object.Key{Name: "a"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte(c.in)}
			got, err := r.Header()
			if err != nil {
				t.Fatal(err)
			}
			if d := diffHeaders(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// msg builds protobuf: pairs of a field number and a string, []byte (embedded), int or int64.
func msg(pairs ...any) []byte {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		num := protowire.Number(pairs[i].(int))
		switch v := pairs[i+1].(type) {
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
		case int64:
			b = protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
		}
	}
	return b
}

func TestHeaderOfProtobufMerges(t *testing.T) {
	in := msg(
		1, msg(1, "a", 3, "n", 11, msg(1, "x", 2, "1"), 9, msg(1, 5)),
		2, "spec",
		1, msg(1, "b", 11, msg(1, "y", 2, "2"), 11, msg(2, "3", 1, "x"), 9, msg(2, 7), 99, 12, 98, "new"),
	)
	r := wire.Raw{Kind: maps, Encoding: wire.Protobuf, Bytes: in}
	got, err := r.Header()
	if err != nil {
		t.Fatal(err)
	}
	want := object.Header{
		Key: object.Key{Namespace: "n", Name: "b"}, DeletionTimestamp: time.Unix(0, 0), Labels: map[string]string{"x": "3", "y": "2"},
	}
	if d := diffHeaders(want, got); d != "" {
		t.Error(d)
	}
	decoded := new(metav1.PartialObjectMetadata)
	if err := r.Decode(decoded); err != nil {
		t.Fatal(err)
	}
	if d := diffHeaders(headerOf(decoded), got); d != "" {
		t.Error(d)
	}
}

func TestHeaderOfBadObjects(t *testing.T) {
	good := msg(1, "a", 3, "n")
	key := object.Key{Namespace: "n", Name: "a"}
	for _, c := range []struct {
		name  string
		enc   wire.Encoding
		in    []byte
		key   object.Key
		field string
	}{
		{"no bytes", wire.Protobuf, nil, object.Key{}, "metadata.name"},
		{"empty name", wire.Protobuf, msg(1, msg(3, "n")), object.Key{Namespace: "n"}, "metadata.name"},
		{"bad UTF-8 in the name", wire.Protobuf, msg(1, msg(3, "n", 1, "a\xff")), object.Key{Namespace: "n"}, "metadata.name"},
		{"bad UTF-8 in a label", wire.Protobuf, msg(1, msg(1, "a", 3, "n", 11, msg(1, "k", 2, "\xc3"))), key, "metadata.labels"},
		{"bad UTF-8 in an owner", wire.Protobuf, msg(1, msg(1, "a", 3, "n", 13, msg(3, "\xc3"))), key, "metadata.ownerReferences"},
		{"label cut short", wire.Protobuf, msg(1, msg(1, "a", 3, "n", 11, "\x0a\x7f")), key, "metadata.labels"},
		{"label is a number", wire.Protobuf, msg(1, msg(1, "a", 3, "n", 11, 5)), key, "metadata.labels"},
		{"name is a number", wire.Protobuf, msg(1, msg(3, "n", 1, 5)), object.Key{Namespace: "n"}, "metadata.name"},
		{"metadata cut short", wire.Protobuf, msg(1, append(good[:len(good):len(good)], 0x5a, 0x20)), key, "metadata"},
		{"object cut short", wire.Protobuf, append(msg(1, good), 0x12, 0x20), key, ""},
		{"metadata is a number", wire.Protobuf, msg(1, 7), object.Key{}, ""},
		{"no JSON", wire.JSON, nil, object.Key{}, ""},
		{"JSON null", wire.JSON, []byte("null"), object.Key{}, ""},
		{"JSON empty name", wire.JSON, []byte(`{"metadata":{"namespace":"n"}}`), object.Key{Namespace: "n"}, "metadata.name"},
		{"JSON bad UTF-8", wire.JSON, []byte(`{"metadata":{"name":"a","namespace":"n"},"spec":"` + "\xff" + `"}`), key, ""},
		{"JSON label is a number", wire.JSON, []byte(`{"metadata":{"name":"a","namespace":"n","labels":{"k":1}}}`), key, "metadata.labels"},
		{"JSON labels are a list", wire.JSON, []byte(`{"metadata":{"name":"a","namespace":"n","labels":[]}}`), key, "metadata.labels"},
		{"JSON bad time", wire.JSON, []byte(`{"metadata":{"name":"a","namespace":"n","deletionTimestamp":"now"}}`), key, "metadata.deletionTimestamp"},
		{"JSON generation", wire.JSON, []byte(`{"metadata":{"name":"a","namespace":"n","generation":1.5}}`), key, "metadata.generation"},
		{"JSON cut short", wire.JSON, []byte(`{"metadata":{"name":"a","namespace":"n"},"spec":{`), key, ""},
		{"JSON and more", wire.JSON, []byte(`{"metadata":{"name":"a","namespace":"n"}}{}`), key, ""},
		{"no encoding", 0, []byte(`{}`), object.Key{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := wire.Raw{Kind: pods, Encoding: c.enc, Bytes: c.in}
			_, err := r.Header()
			var bad *wire.DecodeError
			if !errors.As(err, &bad) {
				t.Fatalf("got %v, want a DecodeError", err)
			}
			if bad.Key != c.key || bad.Field != c.field || bad.Kind != pods.GVK {
				t.Errorf("got key %q field %q kind %v; want key %q field %q", bad.Key, bad.Field, bad.Kind, c.key, c.field)
			}
		})
	}
}

func TestHeaderOfAnotherKind(t *testing.T) {
	r := wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: thing("a", "")}
	_, err := r.Header()
	var wrong *wire.KindError
	if !errors.As(err, &wrong) || wrong.Want != pods.GVK || wrong.Got != things.GVK {
		t.Fatalf("got %v", err)
	}
	var bad *wire.DecodeError
	if !errors.As(err, &bad) || bad.Key != (object.Key{Namespace: "ns", Name: "a"}) {
		t.Errorf("got %v", err)
	}
}

func TestHeaderOwnsItsMemory(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		r := raw(t, enc, pods, bigPod(1))
		before, err := r.Header()
		if err != nil {
			t.Fatal(err)
		}
		want := headerOf(bigPod(1))
		clear(r.Bytes)
		if d := diffHeaders(want, before); d != "" {
			t.Error(d)
		}
	})
}
