package core

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Only metadata.resourceVersion changes, whatever the object has under that name elsewhere.
func TestWithVersion(t *testing.T) {
	names := []string{"resourceVersion", "metadata", "a", `"resourceVersion":"1`, "é", "zz"}
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case kind < 2 && depth > 0:
				return rapid.MapOfN(rapid.SampledFrom(names), value(depth-1), 0, 4).Draw(t, "object")
			case kind == 2 && depth > 0:
				return rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "array")
			case kind == 3:
				return rapid.Float64Range(-9, 9).Draw(t, "number")
			default:
				return rapid.SampledFrom([]string{"", "1", `"metadata":{"resourceVersion":"7"}`, `}{`, `\`, "7"}).Draw(t, "text")
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.MapOfN(rapid.SampledFrom(names), value(3), 0, 5).Draw(t, "object")
		has := rapid.Bool().Draw(t, "stored")
		if has {
			m := rapid.MapOfN(rapid.SampledFrom(names), value(2), 0, 4).Draw(t, "metadata")
			m["resourceVersion"] = rapid.SampledFrom([]string{"", "5", "18446744073709551615"}).Draw(t, "version")
			o["metadata"] = m
		} else {
			delete(o, "metadata")
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "spaces") {
			if text, err = json.MarshalIndent(o, " ", "\t"); err != nil {
				t.Fatal(err)
			}
		}
		before := string(text)
		version := rapid.Uint64().Draw(t, "new")
		got := withVersion(text, version)
		if string(text) != before {
			t.Fatal("the text was changed in place")
		}
		if has {
			o["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(version)
		}
		var back, want any
		wanted, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if err := json.Unmarshal(wanted, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, want) {
			t.Fatalf("got %s, want %s", got, wanted)
		}
	})
	for _, cut := range []string{"", "{", `{"metadata"`, `{"metadata":{"resourceVersion":"5`, `{"metadata":{"resourceVersion":5}}`, "null", strings.Repeat("{", 99)} {
		if got := string(withVersion([]byte(cut), 7)); got != cut {
			t.Errorf("%s became %s", cut, got)
		}
	}
}
