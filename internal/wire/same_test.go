package wire_test

import (
	"testing"

	"github.com/flyball-io/flyball/internal/wire"
)

func TestSameIgnoresOrderAndForm(t *testing.T) {
	const object = `{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"name":"a"},"spec":{"n":1,"s":"x"}}`
	for _, tt := range []struct {
		other string
		want  bool
	}{
		{object, true},
		{`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"n":1,"s":"x"}}`, true},
		{`{"metadata":{"name":"a"},"spec":{"n":1,"s":"x"}}`, true},
		{`{"metadata":{"name":"a"},"kind":"Thing","spec":{"n":1,"s":"x"}}`, true},
		{`{"spec": {"s": "\u0078", "n": 1}, "metadata": {"name": "a"}}`, true},
		{`{"metadata":{"name":"a"},"spec":{"n":2,"s":"x"}}`, false},
		{`{"metadata":{"name":"a"},"spec":{"n":9007199254740993,"s":"x"}}`, false},
		{`{"metadata":{"name":"a"},"spec":{"n":1,"s":"x","new":true}}`, false},
		{`{"metadata":{"name":"a"}}`, false},
		{`{"kind":"Thing"}`, false},
		{`{}`, false},
		{``, false},
		{`nonsense`, false},
	} {
		a, b := wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: []byte(object)}, wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: []byte(tt.other)}
		if got, back := wire.Same(a, b), wire.Same(b, a); got != tt.want || back != tt.want {
			t.Errorf("%s: %v, %v", tt.other, got, back)
		}
	}
	a, b := wire.Raw{Encoding: wire.Protobuf, Bytes: msg(1, "a", 2, "b")}, wire.Raw{Encoding: wire.Protobuf, Bytes: msg(1, "a", 2, "c")}
	if !wire.Same(a, a) || wire.Same(a, b) || wire.Same(a, wire.Raw{Encoding: wire.JSON, Bytes: a.Bytes}) {
		t.Error("protobuf")
	}
	big := wire.Raw{Encoding: wire.JSON, Bytes: []byte(`{"n":9007199254740993}`)}
	if wire.Same(big, wire.Raw{Encoding: wire.JSON, Bytes: []byte(`{"n":9007199254740992}`)}) {
		t.Error("numbers are compared as floats")
	}
}
