package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/object"
)

// Large objects that resemble no other are packed from the record of the state before. Each state is
// read as it was put, however many changes there were, and the records do not grow.
func TestChangesOfLargeObjectsReadAsTheyWerePut(t *testing.T) {
	s := New(Checked(Options{}))
	r := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		return string(b)
	}
	parts := map[string][]string{}
	put := func(name string, version int) {
		body := fmt.Sprintf(`,"data":["%s"]`, strings.Join(parts[name], `","`))
		txn := s.Begin()
		txn.Put(shown(t, name, version, body))
		txn.Commit()
		e, _ := s.Snapshot().Get(object.Key{Name: name})
		if got, want := string(e.Raw().Bytes), string(shown(t, name, version, body).Raw().Bytes); got != want {
			t.Fatalf("version %d: holds %s, want %s", version, got, want)
		}
	}
	for i := range 6 {
		name := fmt.Sprint("o", i)
		for range 40 {
			parts[name] = append(parts[name], word(60+r.IntN(60)))
		}
		put(name, i+1)
	}
	first := s.core.heap.Stats().Live
	for v := range 600 {
		name := fmt.Sprint("o", v%6)
		if p := parts[name]; v%7 == 0 {
			p[r.IntN(len(p))] = word(60 + r.IntN(60))
		} else {
			p[0] = word(20)
		}
		put(name, 90+v*v)
	}
	if s.core.packing.repacked == 0 {
		t.Error("no change was packed from the record before")
	}
	if last := s.core.heap.Stats().Live; last > first*5/4 {
		t.Errorf("the records had %d bytes, after the changes %d", first, last)
	}
}
