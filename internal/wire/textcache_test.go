package wire_test

import (
	"reflect"
	"testing"

	"github.com/flyball-io/flyball/internal/wire"
)

// Labels and annotations that Scan shares are those of the object, whatever was read before.
func TestSharedTextsAreThoseOfTheObject(t *testing.T) {
	label := func(k, v string) []byte { return msg(1, k, 2, v) }
	list := []wire.Raw{
		// The labels of the first two begin alike, and go on behind another field.
		{Kind: pods, Encoding: wire.Protobuf, Bytes: msg(1, msg(11, label("a", "b"), 1, "x", 11, label("c", "d")))},
		{Kind: pods, Encoding: wire.Protobuf, Bytes: msg(1, msg(11, label("a", "b"), 1, "y"))},
		{Kind: pods, Encoding: wire.Protobuf, Bytes: msg(1, msg(12, label("a", "b"), 1, "y", 12, label("c", "d")))},
		{Kind: pods, Encoding: wire.Protobuf, Bytes: msg(1, msg(12, label("a", "b"), 1, "y"))},
		// Other fields are before them, between them and behind them.
		{Kind: pods, Encoding: wire.Protobuf, Bytes: msg(1, msg(1, "x", 11, label("a", "b"), 12, label("e", "f"), 13, msg(3, "owner", 4, "id")))},
		{Kind: pods, Encoding: wire.Protobuf, Bytes: msg(1, msg(11, label("a", "b"), 1, "x", 12, label("e", "f"), 11, label("c", "d"), 13, msg(3, "owner", 4, "id"), 5, "uid"))},
		{Kind: pods, Encoding: wire.Protobuf, Bytes: msg(1, msg(12, label("e", "f"), 11, label("a", "b"), 3, "ns", 11, label("c", "d"), 12, label("g", "h"), 1, "x"))},
		{Kind: pods, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"x","labels":{"a":"b"},"annotations":{"a":"c"}}}`)},
		{Kind: pods, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"y","labels":{"a":"c"},"annotations":{"a":"b"}}}`)},
		{Kind: pods, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"z","labels":{"a":"b"},"labels":{},"annotations":null}}`)},
	}
	for range 2 {
		for _, r := range list {
			want, err := r.Header()
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := r.Scan()
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q: %+v, want %+v; %v", r.Bytes, got, want, err)
			}
			r.Scan() // what is seen twice is shared
			same, _, _ := r.Scan()
			got, _, _ = r.Scan()
			alone := len(got.Annotations) == 0 // what has both may have them at one place, by chance
			if len(got.Labels) > 0 && alone && reflect.ValueOf(same.Labels).Pointer() != reflect.ValueOf(got.Labels).Pointer() {
				t.Errorf("%q: the labels are not shared", r.Bytes)
			}
		}
	}
}
