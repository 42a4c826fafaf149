package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/flyball-io/flyball/object"
)

// bigStore returns a store of n objects, one of them rejected, and their sources.
func bigStore(t *testing.T, n int) (*Store, *maker, map[object.Key][]byte) {
	m := &maker{r: rand.New(rand.NewPCG(7, 7))}
	s := New(Checked(Options{}))
	mustIndex(t, s, "app", ByLabel("app"))
	mustIndexFunc(t, s, "both", func(e *Entry) ([]string, error) { return []string{"all", e.Header().Labels["app"]}, nil })
	mustIndexFunc(t, s, "bad", func(e *Entry) ([]string, error) {
		if e.Key().Name == "thing-0-00000" {
			return nil, errors.New("it is the first")
		}
		return nil, nil
	})
	return s, m, fill(t, s, m, n)
}

// holds fails unless a snapshot and each of its indexes has the content of a model.
func holds(t *testing.T, snap *Snapshot, model map[object.Key][]byte) {
	t.Helper()
	last := object.Key{}
	n := 0
	for e := range snap.All() {
		if e.Key().Compare(last) <= 0 && n > 0 {
			t.Fatalf("%s comes after %s", e.Key(), last)
		}
		n, last = n+1, e.Key()
		if want, ok := model[e.Key()]; !ok || e.Err() == nil && !bytes.Equal(e.Raw().Bytes, want) {
			t.Fatalf("%s: there %v, and another object", e.Key(), ok)
		}
		if found, ok := snap.Lookup(e.Key()); !ok || found.ResourceVersion() != e.ResourceVersion() {
			t.Fatalf("%s is not found", e.Key())
		}
	}
	if n != len(model) || snap.Len() != n {
		t.Fatalf("%d objects, %d by count, want %d", n, snap.Len(), len(model))
	}
	indexed := map[string]int{}
	for _, name := range []string{"app", "both"} {
		values, err := snap.IndexValues(name)
		if err != nil {
			t.Fatal(err)
		}
		for v := range values {
			found, err := snap.Index(name, v)
			if err != nil {
				t.Fatal(err)
			}
			last, rejected := object.Key{}, 0
			for e := range found {
				if e.Err() != nil { // it is under each value
					rejected++
					continue
				}
				if v != "all" && e.Header().Labels["app"] != v || e.Key().Compare(last) <= 0 {
					t.Fatalf("%s under %q, after %s", e.Key(), v, last)
				}
				indexed[name], last = indexed[name]+1, e.Key()
			}
			if rejected != snap.unindexed.Len() {
				t.Fatalf("%d rejected objects under %q, want %d", rejected, v, snap.unindexed.Len())
			}
		}
	}
	usable := n - snap.unindexed.Len()
	if indexed["app"] != usable || indexed["both"] != 2*usable {
		t.Fatalf("%v are indexed of %d objects", indexed, usable)
	}
}

// leaves counts the leaves of the tables.
func leaves(s *Snapshot) int {
	groups := map[uint32]struct{}{}
	for slot := range s.records.All() {
		groups[slot/64] = struct{}{}
	}
	return len(groups)
}

// After most objects are deleted, Rebuild compacts the rest. Only the memory changes, and earlier
// snapshots stay as they were.
func TestRebuildChangesOnlyMemory(t *testing.T) {
	n := short(1000, 2000)
	s, m, model := bigStore(t, n)
	before, whole := s.Snapshot(), map[object.Key][]byte{}
	if s.Sparse() || s.Rebuild() {
		t.Error("a full store is sparse")
	}
	txn := s.Begin()
	for i := range n {
		key, _ := m.object(i)
		whole[key] = model[key]
		if i%10 != 0 {
			txn.Delete(key, nil)
			delete(model, key)
		}
	}
	if s.Rebuild() {
		t.Error("a transaction was open")
	}
	txn.Commit()
	sparse := s.Snapshot()
	if was := leaves(sparse); was < n/64 || !s.Sparse() {
		t.Fatalf("%d leaves, %v: the test tests nothing", was, s.Sparse())
	}
	if !s.Rebuild() || s.Sparse() || s.Rebuild() {
		t.Fatal("it was sparse once")
	}
	is := s.Snapshot()
	if got, want := leaves(is), (len(model)+63)/64; got != want {
		t.Errorf("%d leaves, want %d", got, want)
	}
	if lines := is.hints.buckets.Load(); lines == nil || len(*lines) != bucketsFor(len(model)) {
		t.Errorf("%d keys are not guessed", len(model))
	}
	if is.Version() != sparse.Version() || is.bytes != sparse.bytes || is.unindexed.Len() != 1 {
		t.Errorf("version %d, %d bytes, %d rejected; before: %d, %d, %d", is.Version(), is.bytes, is.unindexed.Len(), sparse.Version(), sparse.bytes, sparse.unindexed.Len())
	}
	for range 2 {
		holds(t, is, model)
		holds(t, sparse, model)
		holds(t, before, whole)
		for s.Compact() {
		}
		runtime.GC()
	}
	for i := range 200 { // writing goes on
		key, raw := m.object(m.r.IntN(2 * n))
		txn := s.Begin()
		if i%3 == 0 {
			txn.Delete(key, nil)
			delete(model, key)
		} else {
			txn.Put(m.entry(t, raw))
			model[key] = raw
		}
		if i%50 == 0 {
			txn.Discard()
			if old, ok := s.Snapshot().Lookup(key); ok && old.Err() == nil {
				model[key] = old.Raw().Bytes
			} else if !ok {
				delete(model, key)
			}
			continue
		}
		txn.Commit()
	}
	holds(t, s.Snapshot(), model)
	runtime.KeepAlive(before)
}

// An object that changes after Rebuild is still the only one of its group, and does not become its
// own template.
func TestRebuildKeepsGroups(t *testing.T) {
	s := New(Options{})
	put := func(i, version int) {
		txn := s.Begin()
		txn.Put(at(fmt.Sprintf("alone-%d u%d@%d", i, i, version)))
		txn.Commit()
	}
	const n = 2000
	for i := range n {
		put(i, i+1)
	}
	for i := range n - 10 {
		commit(s, fmt.Sprintf("xalone-%d", i))
	}
	if !s.Rebuild() {
		t.Fatal("not sparse")
	}
	if got := len(s.core.packing.groups); got > 2 {
		t.Errorf("%d groups, and nobody has siblings", got)
	}
	before := s.Stats().Templates
	for i := n - 10; i < n; i++ {
		put(i, n+i)
	}
	if after := s.Stats().Templates; after > before {
		t.Errorf("%d templates, then %d", before, after)
	}
}

// After ReleaseBuffers a store holds less, and packs new objects as before.
func TestReleaseBuffersKeepsPacking(t *testing.T) {
	s, m, model := bigStore(t, 500)
	indexes := s.core.packing.cache.bytes
	txn := s.Begin()
	s.ReleaseBuffers()
	if got := s.core.packing.cache.bytes; got != indexes || got == 0 {
		t.Errorf("%d bytes of indexes, then %d, and a transaction was open", indexes, got)
	}
	txn.Discard()
	s.ReleaseBuffers()
	if got := s.core.packing.cache.bytes; got != 0 || s.core.buf != nil || s.core.packed != nil {
		t.Errorf("%d bytes of indexes, buffers of %d and %d", got, cap(s.core.buf), cap(s.core.packed))
	}
	before, live := s.Stats(), s.core.heap.Stats().Live
	txn = s.Begin()
	for i := range 500 {
		key, raw := m.object(i)
		txn.Put(m.entry(t, raw))
		model[key] = raw
	}
	txn.Commit()
	holds(t, s.Snapshot(), model)
	if after, is := s.Stats(), s.core.heap.Stats().Live; after.Templates > before.Templates*5/4 || is > live*5/4 {
		t.Errorf("%+v, then %+v; records of %d bytes, then %d", before, after, live, is)
	}
}

// A write during Rebuild wins.
func TestAWriteDuringRebuildWins(t *testing.T) {
	n := short(1000, 2000)
	s, m, model := bigStore(t, n)
	txn := s.Begin()
	for i := range n - n/20 {
		key, _ := m.object(i)
		txn.Delete(key, nil)
		delete(model, key)
	}
	txn.Commit()
	was := s.current.Load()
	h := s.core.newHeap()
	is := was.rebuilt(s.core.slots, h)
	key, raw := m.object(1)
	txn = s.Begin()
	txn.Put(m.entry(t, raw))
	txn.Commit()
	model[key] = raw
	if s.exchange(was, is, h) {
		t.Error("it was changed")
	}
	holds(t, s.Snapshot(), model)
	if !s.Rebuild() {
		t.Error("Rebuild did nothing, though nothing is written")
	}
	holds(t, s.Snapshot(), model)
}

// Readers beside Rebuild see consistent states.
func TestRebuildBesideReadersAndAWriter(t *testing.T) {
	n := short(800, 1100)
	s, m, _ := bigStore(t, n)
	var keys []object.Key
	for i := range n {
		key, _ := m.object(i)
		keys = append(keys, key)
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			for {
				select {
				case <-stop:
					return
				default:
				}
				key := keys[r.IntN(n)]
				s.Look(key, func(e *Entry) {
					if h := e.Header(); h.Name != key.Name {
						t.Errorf("%s is %s", key, h.Name)
					}
				})
				for e := range s.Snapshot().InNamespace("ns-1") {
					if e.Key().Namespace != "ns-1" {
						t.Errorf("%s", e.Key())
					}
				}
			}
		})
	}
	for rebuilt := 0; rebuilt < short(1, 3); {
		txn := s.Begin()
		for i := range n - 50 {
			txn.Delete(keys[i], nil)
		}
		txn.Commit()
		all.Go(func() { // a second writer that conflicts with it
			txn := s.Begin()
			txn.Delete(object.Key{Name: "nothing"}, nil)
			txn.Commit()
		})
		if s.Rebuild() {
			rebuilt++
		}
		txn = s.Begin()
		for i := range n {
			_, raw := m.object(i)
			txn.Put(m.entry(t, raw))
		}
		txn.Commit()
	}
	close(stop)
	all.Wait()
}
