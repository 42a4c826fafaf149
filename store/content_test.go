package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
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
		s := New(Checked(Options{}))
		if err := s.AddIndex("on", ByLabel("on")); err != nil {
			t.Fatal(err)
		}
		put := func(entries ...*Entry) (reported []Change) {
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
				reported = append(reported, c)
			}
			return reported
		}
		put(shown(t, "a", 5, `,"spec":{"n":1}`), shown(t, "b", 6, ""))
		reported := put(shown(t, "a", 5, `,"spec":{"n":1,"default":true}`), shown(t, "b", 6, ""))
		if len(reported) != 1 || reported[0].Key.Name != "a" || reported[0].Resync || reported[0].Old == nil || reported[0].New == nil ||
			reported[0].Old.ResourceVersion() != "5" || reported[0].New.ResourceVersion() != "5" || reported[0].Old.Same(reported[0].New) {
			t.Errorf("relist %v: reported %+v", relist, reported)
		}
		e, _ := s.Snapshot().Get(object.Key{Name: "a"})
		if got := string(e.Raw().Bytes); got != string(shown(t, "a", 5, `,"spec":{"n":1,"default":true}`).Raw().Bytes) {
			t.Errorf("relist %v: holds %s", relist, got)
		}
		if reported := put(shown(t, "a", 5, `, "spec": {"default": true, "n": 1}`), shown(t, "b", 6, `,"kind":"","apiVersion":""`)); len(reported) != 0 {
			t.Errorf("relist %v: written in another way: reported %+v", relist, reported)
		}
		if reported := put(e, shown(t, "b", 6, "")); len(reported) != 0 {
			t.Errorf("relist %v: its own entry: reported %+v", relist, reported)
		}
		extra := func(value string) *Entry { return shown(t, "a", 5, `,"spec":{"n":1},"extra":"`+value+`"`) }
		put(extra("x"), shown(t, "b", 6, ""))
		if reported := put(extra("y"), shown(t, "b", 6, "")); len(reported) != 1 {
			t.Errorf("relist %v: beside the spec: reported %+v", relist, reported)
		}
		labeled := `{"metadata":{"name":"a","uid":"u-a","resourceVersion":"5","labels":{"on":"x"}}}`
		other, err := NewEntry(wire.Raw{Kind: &wire.Kind{}, Encoding: wire.JSON, Bytes: []byte(labeled)})
		if err != nil {
			t.Fatal(err)
		}
		if reported := put(other, shown(t, "b", 6, "")); len(reported) != 1 {
			t.Errorf("relist %v: a label: reported %+v", relist, reported)
		}
		found, err := s.Snapshot().Index("on", "x")
		if n := len(slices.Collect(found)); err != nil || n != 1 {
			t.Errorf("relist %v: the index finds %d, %v", relist, n, err)
		}
	}
}
