//go:build !race

package store

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Looking at an entry allocates nothing, nor does passing over those that do not match.
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

// Reading one field of a lent entry allocates for that field only, and a header no more than its
// copy.
func TestHeaderAllocatesItsCopyOnly(t *testing.T) {
	s := New(Options{})
	for i := range 100 {
		commit(s, fmt.Sprintf("+p%d u%d@%d app=web owner=o1", i, i, i+1))
	}
	key, owners := object.Key{Name: "p7"}, 0
	for _, tc := range []struct {
		name string
		read func(*Entry)
		most float64
	}{
		{"a label", func(e *Entry) { e.Label("app") }, 0},
		{"an annotation", func(e *Entry) { e.Annotation("note") }, 0},
		{"a selector", func(e *Entry) { e.Selected(labels.Everything()) }, 0},
		{"owners", func(e *Entry) {
			for range e.Owners() {
				owners++
			}
		}, 0},
		{"uid and version", func(e *Entry) { _, _ = e.UID(), e.ResourceVersion() }, 2},
		{"header", func(e *Entry) { e.Header() }, 4}, // the header, its texts, and two for a map
	} {
		if n := testing.AllocsPerRun(500, func() { s.Look(key, tc.read) }); n > tc.most {
			t.Errorf("%s: %v allocations, want at most %v", tc.name, n, tc.most)
		}
	}
}
