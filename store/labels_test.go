package store

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
	"github.com/flyball-io/flyball/object"
)

// Labels of any shape, and owners, are read back, by each way to read them, while a store learns values, forgets templates and moves
// records. Checked compares each object with its source.
func TestLabelsOfAnyShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(Checked(Options{}))
		key := rapid.SampledFrom([]string{"app", "tier", "a.very.long.prefix.example.org/app", "x", "team"})
		value := rapid.OneOf(
			rapid.SampledFrom([]string{"", "web", "db", "a", "name"}),
			rapid.StringMatching(`[a-z0-9]{1,63}`),
			rapid.Custom(func(t *rapid.T) string { return strings.Repeat("l", rapid.IntRange(60, 70).Draw(t, "length")) }),
			rapid.Custom(func(t *rapid.T) string { return "often-" + strconv.Itoa(rapid.IntRange(0, 400).Draw(t, "often")) }),
		)
		shapes := rapid.SliceOfN(rapid.SliceOfNDistinct(key, 0, 5, rapid.ID[string]), 1, 3).Draw(t, "shapes")
		held := map[object.Key]map[string]string{}
		version := 0
		for range rapid.IntRange(1, 6).Draw(t, "commits") {
			txn := s.Begin()
			for range rapid.IntRange(1, 60).Draw(t, "objects") {
				version++
				h := object.Header{Key: object.Key{Namespace: "n", Name: "o" + strconv.Itoa(rapid.IntRange(0, 80).Draw(t, "object"))}, ResourceVersion: strconv.Itoa(version), Labels: map[string]string{}}
				h.UID = types.UID("u-" + h.Name)
				if rapid.IntRange(0, 9).Draw(t, "delete") == 0 {
					if _, ok := held[h.Key]; ok {
						txn.Delete(h.Key, entry(h))
						delete(held, h.Key)
					}
					continue
				}
				for _, k := range rapid.SampledFrom(shapes).Draw(t, "shape") {
					if h.Labels[k] = value.Draw(t, "value"); h.Labels[k] == "name" {
						h.Labels[k] = h.Name
					}
				}
				for range rapid.SampledFrom([]int{0, 0, 1, 1, 1, 1, 2}).Draw(t, "owners") {
					o := object.Owner{APIVersion: "v1", Kind: rapid.SampledFrom([]string{"Set", "Job", "Service"}).Draw(t, "kind"), Controller: rapid.Bool().Draw(t, "controls")}
					o.Name = rapid.SampledFrom([]string{h.Name, "s", "job-" + h.Name, strings.Repeat("n", 70)}).Draw(t, "owner")
					o.UID = types.UID(rapid.SampledFrom([]string{string(h.UID), "x", "3f2a8b1c-9d4e-4f60-a7b8-c9d0e1f2a3b" + strconv.Itoa(len(h.Name)), strings.Repeat("u", 300)}).Draw(t, "uid"))
					h.Owners = append(h.Owners, o)
				}
				txn.Put(entry(h))
				held[h.Key] = h.Labels
			}
			txn.Commit()
			for key, want := range held {
				e, ok := s.Snapshot().Lookup(key)
				if !ok || !maps.Equal(e.Labels(), want) {
					t.Fatalf("%s: %v, %v, want %v", key, ok, e.Labels(), want)
				}
				s.Look(key, func(e *Entry) {
					for k, v := range want {
						if got, ok := e.Label(k); !ok || got != v || !e.Selected(labels.SelectorFromSet(labels.Set{k: v})) {
							t.Fatalf("%s: label %s is %q, %v, want %q", key, k, got, ok, v)
						}
					}
				})
			}
		}
	})
}

// A reader of a former state sees its labels while the writer learns values, and frees the templates it used.
func TestLabelsOfAFormerState(t *testing.T) {
	s := New(Checked(Options{}))
	put := func(round int) {
		txn := s.Begin()
		for i := range 300 {
			h := object.Header{Key: object.Key{Namespace: "n", Name: "o" + strconv.Itoa(i)}, UID: types.UID("u" + strconv.Itoa(i)), ResourceVersion: strconv.Itoa(round*1000 + i + 1)}
			h.Labels = map[string]string{"round" + strconv.Itoa(round%3): strconv.Itoa(round), "half": fmt.Sprint("half-", i/2), "own": h.Name}
			txn.Put(entry(h))
		}
		txn.Commit()
	}
	put(0)
	var readers sync.WaitGroup
	for round := range 8 {
		snapshot := s.Snapshot()
		readers.Go(func() {
			for e := range snapshot.All() {
				i := strings.TrimPrefix(e.Key().Name, "o")
				n, _ := strconv.Atoi(i)
				want := map[string]string{"round" + strconv.Itoa(round%3): strconv.Itoa(round), "half": fmt.Sprint("half-", n/2), "own": e.Key().Name}
				if got := e.Labels(); !maps.Equal(got, want) {
					t.Errorf("round %d: %v, want %v", round, got, want)
					return
				}
				if half, _ := e.Label("half"); half != want["half"] || !e.Selected(labels.SelectorFromSet(want)) {
					t.Errorf("round %d: %q", round, half)
				}
			}
		})
		put(round + 1)
	}
	readers.Wait()
}

// keeping is a selector that keeps what it is shown.
type keeping struct {
	labels.Selector
	seen *[]string
}

func (k keeping) Matches(l labels.Labels) bool {
	*k.seen = append(*k.seen, l.Get("own"))
	return true
}

// What a selector of the user keeps stays as it was when the record has gone.
func TestSelectorKeepsAValue(t *testing.T) {
	s := New(Options{})
	put := func(name, own string, version int) {
		txn := s.Begin()
		txn.Put(entry(object.Header{Key: object.Key{Name: name}, UID: types.UID(name), ResourceVersion: strconv.Itoa(version), Labels: map[string]string{"own": own, "app": "x"}}))
		txn.Commit()
	}
	var want, seen []string
	for i := range 100 {
		put("o"+strconv.Itoa(i), "value-"+strconv.Itoa(i), i+1)
		want = append(want, "value-"+strconv.Itoa(i))
	}
	by := keeping{labels.Everything(), &seen}
	seq, err := s.Snapshot().Select(Query{Match: func(e *Entry) bool { return e.Selected(by) }})
	if err != nil {
		t.Fatal(err)
	}
	for range seq { //nolint:revive // the selector notes what it is shown
	}
	for i := range 100 {
		put("o"+strconv.Itoa(i), "another-"+strconv.Itoa(i), 1000+i)
	}
	s.Compact()
	slices.Sort(want)
	slices.Sort(seen)
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

// The memory that templates are said to hold is gone when they are, however their labels grew.
func TestTemplatesHoldNothingInTheEnd(t *testing.T) {
	s := New(Checked(Options{}))
	headers := make([]object.Header, 500)
	txn := s.Begin()
	for i := range headers {
		name := "o" + strconv.Itoa(i)
		headers[i] = object.Header{Key: object.Key{Namespace: "n", Name: name}, UID: types.UID(name), ResourceVersion: strconv.Itoa(i + 1), Labels: map[string]string{"one": "v" + strconv.Itoa(i), "two": fmt.Sprint("half-", i/2)}}
		txn.Put(entry(headers[i]))
	}
	txn.Commit()
	if s.core.packing.held <= 0 {
		t.Fatalf("templates hold %d bytes", s.core.packing.held)
	}
	txn = s.Begin()
	for i, h := range headers {
		h.ResourceVersion = strconv.Itoa(1000 + i)
		txn.Delete(h.Key, entry(h))
	}
	txn.Commit()
	if n := s.core.packing.templates(); n != 0 || s.core.packing.held != 0 {
		t.Errorf("%d templates hold %d bytes", n, s.core.packing.held)
	}
}
