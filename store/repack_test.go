package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// randomWord returns n random letters.
func randomWord(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// Large objects that resemble no other are packed from the record of the state before. Each state is
// read as it was put, however many changes there were, and the records do not grow.
func TestChangesOfLargeObjectsReadAsTheyWerePut(t *testing.T) {
	s := New(Checked(Options{}))
	r := rand.New(rand.NewPCG(1, 2))
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
			parts[name] = append(parts[name], randomWord(r, 60+r.IntN(60)))
		}
		put(name, i+1)
	}
	first := s.core.heap.Stats().Live
	for v := range short(150, 600) {
		name := fmt.Sprint("o", v%6)
		if p := parts[name]; v%7 == 0 {
			p[r.IntN(len(p))] = randomWord(r, 60+r.IntN(60))
		} else {
			p[0] = randomWord(r, 20)
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

// What a dictionary learns while changes are packed is there for the readers of the next change.
func TestReadersHaveWhatADictionaryLearnedFromChanges(t *testing.T) {
	s := New(Checked(Options{}))
	r := rand.New(rand.NewPCG(3, 4))
	version, own := 0, map[string]string{}
	put := func(name, word string) {
		t.Helper()
		version++
		b := fmt.Appendf(nil, `{"metadata":{"name":%q,"uid":"u-%s","resourceVersion":"%d","labels":{"app":%q}},"data":[%q,%q]}`,
			name, name, version, name, word, own[name])
		e, err := NewEntry(wire.Raw{Kind: &wire.Kind{}, Encoding: wire.JSON, Bytes: b})
		if err != nil {
			t.Fatal(err)
		}
		txn := s.Begin()
		txn.Put(e)
		txn.Commit()
		stored, _ := s.Snapshot().Get(object.Key{Name: name})
		if got := stored.Raw().Bytes; !bytes.Equal(got, b) {
			t.Fatalf("version %d: holds %s, want %s", version, got, b)
		}
	}
	// One shape, and no two objects of one group: the dictionary of the shape serves all of them.
	common, names := randomWord(r, 1500), []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range names {
		own[name] = common + randomWord(r, 1000)
		put(name, randomWord(r, 200))
	}
	for range 3 {
		word := randomWord(r, 200)
		for _, name := range names[2:] { // the dictionary was made of the first two
			put(name, word)
		}
	}
}
