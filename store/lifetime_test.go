package store

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
)

// eventually runs the garbage collector until is returns true.
func eventually(t *testing.T, is func() bool, what func() string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !is(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal(what())
		}
		runtime.GC()
	}
}

// fill puts n objects in one transaction.
func fill(t testing.TB, s *Store, m *maker, n int) map[object.Key][]byte {
	model := map[object.Key][]byte{}
	txn := s.Begin()
	for i := range n {
		key, raw := m.object(i)
		txn.Put(m.entry(t, raw))
		model[key] = raw
	}
	txn.Commit()
	return model
}

// A held snapshot, or a loop over a list that hangs, keeps the objects it shows and no later ones.
func TestHeldSnapshotKeepsOnlyWhatItShows(t *testing.T) {
	const n = 100
	updates := short(1_000, 20_000)
	for _, name := range []string{"snapshot", "loop"} {
		t.Run(name, func(t *testing.T) {
			m := &maker{r: rand.New(rand.NewPCG(5, 5))}
			s := New(Options{})
			mustIndex(t, s, "app", ByLabel("app"))
			model := fill(t, s, m, n)
			full := s.Stats().Held
			snap := s.Snapshot()
			next, stop := iter.Pull(snap.All())
			defer stop()
			first, _ := next()
			if name == "loop" {
				snap = nil
			}
			for i := range updates {
				_, raw := m.object(i % n)
				txn := s.Begin()
				txn.Put(m.entry(t, raw))
				txn.Commit()
			}
			eventually(t, func() bool { return s.Stats().Held <= 4*full }, func() string {
				return fmt.Sprintf("%+v, of %d bytes at first", s.Stats(), full)
			})
			seen := 0
			for e := first; e != nil; e, _ = next() {
				if seen++; !bytes.Equal(e.Raw().Bytes, model[e.Key()]) {
					t.Errorf("%s has changed", e.Key())
				}
			}
			if seen != n {
				t.Errorf("%d objects, want %d", seen, n)
			}
			runtime.KeepAlive(snap)
		})
	}
}

// A store without references is freed, whatever was read from it.
func TestDroppedStoreIsFreed(t *testing.T) {
	before, _ := heap.Process()
	stores := short(3, 10)
	func() {
		for range stores {
			m := &maker{r: rand.New(rand.NewPCG(6, 6))}
			s := New(Options{})
			mustIndex(t, s, "app", ByLabel("app"))
			fill(t, s, m, 500)
			if s.Snapshot().Len() != 500 || s.Stats().Objects != 500 {
				t.Error("not whole")
			}
			for range s.Snapshot().All() {
				break
			}
		}
	}()
	eventually(t, func() bool { now, _ := heap.Process(); return now <= before }, func() string {
		now, _ := heap.Process()
		return fmt.Sprintf("%d bytes outside the Go heap, %d before", now, before)
	})
}

// The cost of Commit and Snapshot does not depend on the number of held snapshots. Costs are compared
// with room for what the rest of the process allocates; a cost for each snapshot would exceed it.
func TestCommitCostIsIndependentOfHeldSnapshots(t *testing.T) {
	tier.Audit(t, "measures allocations")
	s := New(Options{})
	var held []*Snapshot
	version := 0
	update := func() *Entry {
		version++
		return at(fmt.Sprintf("x u@%d", version))
	}
	hold := func(n int) {
		for len(held) < n {
			held = append(held, s.Snapshot())
			txn := s.Begin()
			txn.Put(update())
			txn.Commit()
		}
	}
	cost := func() (allocs, bytes uint64) {
		const updates = 200
		entries := make([]*Entry, updates)
		for i := range entries {
			entries[i] = update()
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, e := range entries {
			s.Snapshot()
			txn := s.Begin()
			txn.Put(e)
			txn.Commit()
		}
		runtime.ReadMemStats(&after)
		return (after.Mallocs - before.Mallocs) / updates, (after.TotalAlloc - before.TotalAlloc) / updates
	}
	hold(2_000)
	fewAllocs, fewBytes := cost()
	hold(20_000)
	if allocs, bytes := cost(); allocs > 2*fewAllocs || bytes > 2*fewBytes {
		t.Errorf("%d allocations of %d bytes, with a tenth of the snapshots %d of %d", allocs, bytes, fewAllocs, fewBytes)
	}
	runtime.KeepAlive(held)
}

// Changes show the states before and after their Commit, also when they are read much later.
func TestChangesOutliveTheNextTransactions(t *testing.T) {
	s := New(Checked(Options{}))
	commit(s, "+x u1@1 app=web", "+y u2@2")
	txn := s.Begin()
	txn.Put(at("x u1@3 app=db"))
	txn.Delete(object.Key{Name: "y"}, nil)
	changes := txn.Commit()
	for i := range short(600, 2000) {
		commit(s, fmt.Sprintf("+x u1@%d app=other", 4+i), fmt.Sprintf("+y u3@%d", 3000+i))
		if i%500 == 0 {
			runtime.GC()
		}
	}
	var got []string
	for c := range changes.All() {
		got = append(got, fmt.Sprint(c.Key.Name, " ", id(c.Old), " ", c.Old.Labels()["app"], " ", c.New != nil && c.New.Labels()["app"] == "db"))
	}
	if want := "[x u1@1 web true y u2@2  false]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// A discarded update, and a discarded first list, leave nothing behind.
func TestDiscardLeavesNoTrace(t *testing.T) {
	s := New(Checked(Options{}))
	m := &maker{r: rand.New(rand.NewPCG(8, 8))}
	for range 3 {
		txn := s.Begin()
		txn.Replace()
		for i := range 300 {
			_, raw := m.object(i)
			txn.Put(m.entry(t, raw))
		}
		txn.Discard()
	}
	if live := s.core.heap.Stats().Live; live != 0 {
		t.Errorf("%d bytes are alive of a list that was discarded", live)
	}
	model := fill(t, s, m, 300)
	live := s.core.heap.Stats().Live
	for range short(5, 20) {
		txn := s.Begin()
		for i := range 200 {
			key, raw := m.object(i)
			if i%3 == 0 {
				txn.Delete(key, nil)
			} else {
				txn.Put(m.entry(t, raw))
			}
		}
		txn.Discard()
	}
	if is := s.core.heap.Stats().Live; is != live {
		t.Errorf("%d bytes are alive, %d before what was discarded", is, live)
	}
	for e := range s.Snapshot().All() {
		if !bytes.Equal(e.Raw().Bytes, model[e.Key()]) {
			t.Errorf("%s has changed", e.Key())
		}
	}
}

// Compaction beside readers: half of a store's records are superseded. All but a tenth of the dead
// memory is freed, and every snapshot stays as it was.
func TestCompactKeepsSnapshots(t *testing.T) {
	s := New(Checked(Options{}))
	m := &maker{r: rand.New(rand.NewPCG(9, 9))}
	n := short(200, 1500)
	model := fill(t, s, m, n)
	before := s.Snapshot()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for e := range before.All() {
				if !bytes.Equal(e.Raw().Bytes, model[e.Key()]) {
					t.Errorf("%s has changed", e.Key())
					return
				}
			}
		}
	}()
	for i := range 3 * n {
		_, raw := m.object(m.r.IntN(n))
		txn := s.Begin()
		txn.Put(m.entry(t, raw))
		txn.Commit()
		if i%1000 == 0 {
			runtime.GC()
		}
	}
	version := s.Snapshot().Version()
	for s.Compact() {
	}
	if got := s.Snapshot(); got.Version() != version || got.Len() != n {
		t.Errorf("version %d of %d objects, %d before", got.Version(), got.Len(), version)
	}
	if h := s.core.heap.Stats(); h.Used-h.Live > max(h.Live/9, 16<<10) {
		t.Errorf("%+v", h)
	}
	close(stop)
	<-done
	txn := s.Begin()
	if s.Compact() {
		t.Error("a transaction is open")
	}
	txn.Discard()
}
