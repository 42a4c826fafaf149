package decode

import (
	gojson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// change makes one change to a document, as a program with all fields would. It changes a text, or
// removes an element, entry or member. A program without some of the fields is to make the same
// change. undo reverts it. Names of fields that no type has begin with "newer".
func change(r *rand.Rand, doc map[string]any) (undo func(), what string) {
	var all []func() (func(), string)
	var visit func(path string, v any, set func(any))
	visit = func(path string, v any, set func(any)) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				if strings.HasPrefix(k, "newer") {
					continue
				}
				x, path := v[k], path+"."+k
				all = append(all, func() (func(), string) {
					delete(v, k)
					return func() { v[k] = x }, "without " + path
				})
				visit(path, x, func(x any) { v[k] = x })
			}
		case []any:
			for i, x := range v {
				if set != nil && !twin(v, i) {
					all = append(all, func() (func(), string) {
						set(slices.Delete(slices.Clone(v), i, i+1))
						return func() { set(v) }, fmt.Sprintf("without %s[%d]", path, i)
					})
				}
				visit(fmt.Sprintf("%s[%d]", path, i), x, func(x any) { v[i] = x })
			}
		case string:
			all = append(all, func() (func(), string) {
				set(v + "x")
				return func() { set(v) }, "other " + path
			})
		}
	}
	visit("", doc, nil)
	if len(all) == 0 {
		return nil, ""
	}
	return all[r.IntN(len(all))]()
}

// twin reports whether another element has equal known fields: then it is unknown which of them was
// removed.
func twin(list []any, i int) bool {
	known := func(v any) string {
		text, _ := gojson.Marshal(v)
		var value any
		_ = gojson.Unmarshal(text, &value)
		text, _ = gojson.Marshal(strip(value))
		return string(text)
	}
	for n, x := range list {
		if n != i && known(x) == known(list[i]) {
			return true
		}
	}
	return false
}

// keys are the key fields of lists of the API, by tag or by convention.
var keys = []string{"name", "type", "uid", "ip", "mountPath", "devicePath", "topologyKey"}

// A program with partial types of every kind makes successive changes to the result of the previous
// one. The result is as if it had all fields: the same document, unknown fields included.
func TestRestoreAgreesWithAProgramThatKnowsAll(t *testing.T) {
	steps, unclear, other, kept := 0, 0, 0, 0
	for i, typ := range types(t) {
		r := rand.New(rand.NewPCG(uint64(i), 5))
		obj := reflect.New(typ).Interface()
		filler(int64(i)).Fill(obj)
		first, _ := newer(t, jsonForm, typ, normal(t, typ, encoded(t, gojson.Marshal, obj)), r, both[0].field)
		full := tree(t, first)
		for range long(2, 8) {
			read := encoded(t, gojson.Marshal, full)
			undo, what := change(r, full)
			if undo == nil {
				break
			}
			now := encoded(t, gojson.Marshal, full)
			is := reflect.New(typ).Interface()
			if JSON(now, is) != nil {
				undo() // for example a text that must be a time
				continue
			}
			sent := encoded(t, gojson.Marshal, is)
			known := normal(t, typ, read)
			if !reflect.DeepEqual(strip(tree(t, now)), strip(tree(t, sent))) {
				undo() // the type cannot express it: the field is always written
				continue
			}
			got, err := RestoreJSON(typ, Versions{Read: read, Known: known, Sent: sent})
			if _, ok := errors.AsType[*PlaceError](err); ok {
				unclear++
				undo()
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(full, tree(t, got)); d != "" && !renamed(what) {
				t.Fatalf("%v %s: %s", typ, what, d)
			} else if d != "" {
				other++
				undo()
				continue
			}
			steps++
			kept += strings.Count(string(got), `"newer`)
		}
	}
	if steps < long(400, 1500) || kept < 3*steps || unclear+other > steps/50 {
		t.Errorf("%d steps, %d fields kept; %d changes that are unclear, %d of keys", steps, kept, unclear, other)
	}
}

// renamed reports whether the change is one of a key, or of a text in a list that may be one. The
// element is then a new one, and the unknown fields of the former one are removed.
func renamed(what string) bool {
	last := what[strings.LastIndexAny(what, ".")+1:]
	return strings.Contains(what, "].") && slices.Contains(keys, last)
}

// normal returns a document as its type writes it.
func normal(t *testing.T, typ reflect.Type, doc []byte) []byte {
	t.Helper()
	obj := reflect.New(typ).Interface()
	if err := JSON(doc, obj); err != nil {
		t.Fatalf("%v: %v", typ, err)
	}
	return encoded(t, gojson.Marshal, obj)
}

func tree(t *testing.T, doc []byte) (v map[string]any) {
	t.Helper()
	if err := gojson.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// strip removes the fields that no type has.
func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if strings.HasPrefix(k, "newer") {
				delete(v, k)
				continue
			}
			strip(x)
		}
	case []any:
		for _, x := range v {
			strip(x)
		}
	}
	return v
}
