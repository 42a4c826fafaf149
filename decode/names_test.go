package decode

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Every field of every kind is found by its name, and nothing else is.
func TestEveryFieldIsFoundByName(t *testing.T) {
	tables, maps := 0, 0
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		var list []string
		for f := range typ.Fields() {
			walk(f.Type)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				list = append(list, name)
			}
		}
		n := newNames(list)
		if tables++; n.table == nil {
			maps++
		}
		for i, name := range list {
			for wrong, at := range map[string]int{name: i, name + "x": -1, "x" + name: -1, strings.ToUpper(name): -1, "": -1} {
				if got := n.find([]byte(wrong)); got != at && (at >= 0 || got >= 0 && list[got] != wrong) {
					t.Fatalf("%v: %q is at %d, want %d", typ, wrong, got, at)
				}
			}
		}
	}
	for _, typ := range types(t) {
		walk(typ)
	}
	if tables < 500 || maps > 5 {
		t.Errorf("%d tables, of them %d maps", tables, maps)
	}
}

func TestCollidingNamesAreFound(t *testing.T) {
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprint("name", i))
	}
	for _, list := range [][]string{nil, {""}, {"startingXsameending", "startingYsameending"}, many} {
		n := newNames(list)
		for i, name := range list {
			if got := n.find([]byte(name)); got != i {
				t.Errorf("%q is at %d, want %d", name, got, i)
			}
		}
		if got := n.find([]byte("neither")); got != -1 {
			t.Errorf("found at %d", got)
		}
	}
}
