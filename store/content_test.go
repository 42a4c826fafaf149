package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// shown returns a state of an object as a server may show it.
func shown(t *testing.T, name string, version int, rest string) *Entry {
	t.Helper()
	e, err := NewEntry(wire.Raw{Kind: &wire.Kind{}, Encoding: wire.JSON, Bytes: fmt.Appendf(nil,
		`{"metadata":{"name":%q,"uid":"u-%s","resourceVersion":"%d"}%s}`, name, name, version, rest)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Different content of the stored version is stored and reported as an update; equal content is
// not.
func TestOtherContentAtOneVersionIsStored(t *testing.T) {
	for _, relist := range []bool{true, false} {
		s := New(Options{Check: true})
		if err := s.AddIndex("on", ByLabel("on")); err != nil {
			t.Fatal(err)
		}
		put := func(entries ...*Entry) (told []Change) {
			txn := s.Begin()
			if relist {
				txn.Replace()
			}
			for _, e := range entries {
				txn.Put(e)
			}
			if relist {
				txn.Sweep()
			}
			for c := range txn.Commit().All() {
				told = append(told, c)
			}
			return told
		}
		put(shown(t, "a", 5, `,"spec":{"n":1}`), shown(t, "b", 6, ""))
		told := put(shown(t, "a", 5, `,"spec":{"n":1,"default":true}`), shown(t, "b", 6, ""))
		if len(told) != 1 || told[0].Key.Name != "a" || told[0].Resync || told[0].Old == nil || told[0].New == nil ||
			told[0].Old.ResourceVersion() != "5" || told[0].New.ResourceVersion() != "5" || told[0].Old.Same(told[0].New) {
			t.Errorf("relist %v: told %+v", relist, told)
		}
		e, _ := s.Snapshot().Get(object.Key{Name: "a"})
		if got := string(e.Raw().Bytes); got != string(shown(t, "a", 5, `,"spec":{"n":1,"default":true}`).Raw().Bytes) {
			t.Errorf("relist %v: holds %s", relist, got)
		}
		if told := put(shown(t, "a", 5, `, "spec": {"default": true, "n": 1}`), shown(t, "b", 6, `,"kind":"","apiVersion":""`)); len(told) != 0 {
			t.Errorf("relist %v: written in another way: told %+v", relist, told)
		}
		if told := put(e, shown(t, "b", 6, "")); len(told) != 0 {
			t.Errorf("relist %v: its own entry: told %+v", relist, told)
		}
		extra := func(value string) *Entry { return shown(t, "a", 5, `,"spec":{"n":1},"extra":"`+value+`"`) }
		put(extra("x"), shown(t, "b", 6, ""))
		if told := put(extra("y"), shown(t, "b", 6, "")); len(told) != 1 {
			t.Errorf("relist %v: beside the spec: told %+v", relist, told)
		}
		labeled := `{"metadata":{"name":"a","uid":"u-a","resourceVersion":"5","labels":{"on":"x"}}}`
		other, err := NewEntry(wire.Raw{Kind: &wire.Kind{}, Encoding: wire.JSON, Bytes: []byte(labeled)})
		if err != nil {
			t.Fatal(err)
		}
		if told := put(other, shown(t, "b", 6, "")); len(told) != 1 {
			t.Errorf("relist %v: a label: told %+v", relist, told)
		}
		found, err := s.Snapshot().Index("on", "x")
		if n := len(slices.Collect(found)); err != nil || n != 1 {
			t.Errorf("relist %v: the index finds %d, %v", relist, n, err)
		}
	}
}
