//go:build !race

package store

import (
	"fmt"
	"testing"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// Nothing is allocated to look at an entry, or to pass over those that do not match.
func TestLookAllocatesNothing(t *testing.T) {
	s := New(Options{})
	for i := range 100 {
		commit(s, fmt.Sprintf("+p%d u%d@%d app=%d", i, i, i+1, i%2))
	}
	read := func(wire.Raw) error { return nil }
	look := func(e *Entry) { _ = e.Read(read) }
	key := object.Key{Name: "p7"}
	if n := testing.AllocsPerRun(500, func() { s.Look(key, look) }); n >= 1 {
		t.Errorf("a look makes %v allocations", n)
	}
	none, err := s.Snapshot().Select(Query{Match: func(e *Entry) bool { return e.Generation() > 5 }})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		for range none {
			t.Error("something matches")
		}
	}); n > 20 {
		t.Errorf("a hundred that do not match make %v allocations", n)
	}
}
