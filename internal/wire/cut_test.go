package wire_test

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/wire"
)

func TestCutManagedFields(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		for seed := range int64(200) {
			in := new(corev1.Pod)
			randomObjects(seed).Fill(in)
			r := raw(t, enc, pods, in)
			before := bytes.Clone(r.Bytes)
			cut := wire.CutManagedFields(nil, r)
			if !bytes.Equal(before, r.Bytes) {
				t.Fatal("the bytes were changed")
			}
			if &cut.Bytes[0] == &r.Bytes[0] {
				t.Error("the bytes are shared")
			}
			if len(cut.Bytes) != cap(cut.Bytes) && len(in.ManagedFields) > 0 {
				t.Errorf("%d bytes in %d", len(cut.Bytes), cap(cut.Bytes))
			}
			want := in.DeepCopy()
			want.ManagedFields = nil
			if b := raw(t, enc, pods, want).Bytes; !bytes.Equal(b, cut.Bytes) {
				t.Fatalf("seed %d:\n%q, want\n%q", seed, cut.Bytes, b)
			}
		}
	})
}

func TestCutManagedFieldsOfJSON(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"only", `{"metadata":{"managedFields":[]}}`, `{"metadata":{}}`},
		{"first", `{"metadata":{"managedFields":[{"a":1}], "name":"a"}}`, `{"metadata":{"name":"a"}}`},
		{"middle", `{"metadata":{"name":"a" , "managedFields":null , "uid":"u"}}`, `{"metadata":{"name":"a" , "uid":"u"}}`},
		{"last", `{"metadata":{"name":"a", "managedFields":{} }}`, `{"metadata":{"name":"a" }}`},
		{"all over", `{"metadata":{"managedFields":1,"managedFields":2,"name":"a","managedFields":3,"managedFields":4}}`, `{"metadata":{"name":"a"}}`},
		{"twice", `{"metadata":{"managedFields":1,"managedFields":2}}`, `{"metadata":{}}`},
		{"escaped", `{"metadata":{"name":"a","\u006danagedFields":1}}`, `{"metadata":{"name":"a"}}`},
		{"two metadata", `{"metadata":{"managedFields":1},"metadata":{"name":"a","managedFields":1}}`, `{"metadata":{},"metadata":{"name":"a"}}`},
		{"elsewhere", `{"managedFields":1,"spec":{"metadata":{"managedFields":1}}}`, ``},
		{"none", `{"metadata":{"name":"a"}}`, ``},
		{"metadata is a list", `{"metadata":[{"managedFields":1}]}`, ``},
		{"bad", `{"metadata":{"managedFields":1,}}`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == "" {
				c.want = c.in
			}
			got := wire.CutManagedFields(nil, wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte(c.in)})
			if string(got.Bytes) != c.want {
				t.Errorf("got %s, want %s", got.Bytes, c.want)
			}
		})
	}
}

func TestCutManagedFieldsLeavesGarbage(t *testing.T) {
	in := append(msg(1, msg(1, "a", 17, "x")), 0x12, 0x7f)
	got := wire.CutManagedFields(nil, wire.Raw{Kind: pods, Encoding: wire.Protobuf, Bytes: in})
	if !bytes.Equal(got.Bytes, in) {
		t.Error("garbage was edited")
	}
}
