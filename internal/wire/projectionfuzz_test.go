package wire_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/wire"
)

// fuzzProject compares views with the decoded object.
func fuzzProject(f *testing.F, enc wire.Encoding) {
	f.Add(raw(f, enc, pods, smallPod()).Bytes)
	f.Add(raw(f, enc, pods, bigPod(1)).Bytes)
	f.Fuzz(func(t *testing.T, in []byte) {
		r := wire.Raw{Kind: pods, Encoding: enc, Bytes: in}
		var got podView
		if err := r.Project(&got); err != nil && !errors.As(err, new(*wire.DecodeError)) {
			t.Fatal(err)
		}
		if enc == wire.JSON {
			// Equal names are merged by the typed decoder; here the last one wins.
			content := map[string]any{}
			if json.Unmarshal(in, &content) != nil {
				return
			}
			single, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			if r.Bytes = single; r.Decode(new(corev1.Pod)) != nil {
				return
			}
			var same podView
			first := (wire.Raw{Kind: pods, Encoding: enc, Bytes: in}).Project(&got)
			if second := r.Project(&same); second != nil || first == nil && !reflect.DeepEqual(got, same) {
				t.Fatalf("%+v, without what is there twice %+v: %v %v", got, same, first, second)
			}
		}
		decoded := new(corev1.Pod)
		if r.Decode(decoded) != nil {
			return
		}
		if err := r.Project(&got); err != nil {
			if stricter(err) {
				return
			}
			t.Fatalf("the object can be decoded, the view cannot: %v", err)
		}
		if want := viewOf(decoded); !reflect.DeepEqual(want, got) {
			t.Fatalf("%s", diffObjects(want, got))
		}
	})
}

// stricter reports whether an error is about what no reader of this package takes and the generated
// code does: groups, numbers out of bounds where they are passed over, and anything for the key and
// the value in an entry of a map.
func stricter(err error) bool {
	bad, ok := errors.AsType[*wire.DecodeError](err)
	if !ok {
		return false
	}
	switch bad.Err.Error() {
	case "bad field tag", "number is too long", "message is cut short":
		return true
	}
	for _, name := range []string{"labels", "overhead", "requests", "limits"} {
		if strings.Contains(bad.Field, name) && strings.Contains(bad.Err.Error(), "has wire type") {
			return true
		}
	}
	return false
}

func FuzzProjectProtobuf(f *testing.F) {
	f.Add(msg(1, msg(11, msg(1, "app"), 11, msg(2, "3", 1, "app")), 2, msg(25, 3, 14, msg(4, []byte{3, 4})), 2, msg(25, 4)))
	fuzzProject(f, wire.Protobuf)
}

func FuzzProjectJSON(f *testing.F) {
	f.Add([]byte(`{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":1.5}}},null],"x":["}",{"\"":"\\"}]},"spec":null,"metadata":{"labels":{"app":null}}}`))
	f.Add([]byte("{\"a\":[tru,\x00]} "))
	fuzzProject(f, wire.JSON)
}
