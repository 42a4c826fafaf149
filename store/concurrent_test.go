package store

import (
	"fmt"
	"hash/maphash"
	"iter"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"weak"

	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/object"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var seed = maphash.MakeSeed()

// sum is a checksum of a set of entries that does not depend on their order.
func sum(entries iter.Seq[*Entry]) (n int, hash uint64) {
	for e := range entries {
		n, hash = n+1, hash+sumOne(e)
	}
	return n, hash
}

func sumOne(e *Entry) uint64 {
	return maphash.Comparable(seed, [3]string{e.key.String(), e.ResourceVersion(), e.Header().Labels["app"]})
}

// Readers at full speed beside a writer: every snapshot equals the model at its version, in the
// objects and in every index.
func TestReadersBesideAWriter(t *testing.T) {
	commits := short(60, 150)
	if os.Getenv("FLYBALL_LONG") != "" {
		commits = 3000
	}
	type expected struct {
		n    int
		hash uint64
	}
	var models sync.Map // version → expected
	s := New(Checked(Options{}))
	mustIndex(t, s, "app", ByLabel("app"))
	models.Store(uint64(1), expected{})

	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for last := uint64(0); ; {
				select {
				case <-stop:
					return
				default:
				}
				snap := s.Snapshot()
				if snap.Version() < last {
					t.Errorf("version %d after %d", snap.Version(), last)
					return
				}
				last = snap.Version()
				v, ok := models.Load(snap.Version())
				if !ok {
					t.Errorf("version %d was never published", snap.Version())
					return
				}
				want := v.(expected)
				if n, hash := sum(snap.All()); n != want.n || hash != want.hash || snap.Len() != n {
					t.Errorf("version %d: %d objects, want %d, or others", snap.Version(), n, want.n)
					return
				}
				var got expected
				values, err := snap.IndexValues("app")
				if err != nil {
					t.Error(err)
					return
				}
				for v := range values {
					seq, err := snap.Index("app", v)
					if err != nil {
						t.Error(err)
						return
					}
					for e := range seq {
						if e.Header().Labels["app"] != v {
							t.Errorf("%s is %q under %q", e.key, e.Header().Labels["app"], v)
							return
						}
						got.n, got.hash = got.n+1, got.hash+sumOne(e)
					}
				}
				if got != want {
					t.Errorf("version %d: the index holds %d objects, want %d, or others", snap.Version(), got.n, want.n)
					return
				}
				runtime.Gosched()
			}
		})
	}

	model := map[object.Key]*Entry{}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range commits {
		txn := s.Begin()
		relist := i%50 == 49
		if relist {
			txn.Replace()
			clear(model)
		}
		for j := range 40 {
			e := at(fmt.Sprintf("n%d/p%d u@%d app=%c", r.IntN(3), r.IntN(200), i*100+j+1, 'a'+r.IntN(5)))
			if r.IntN(4) == 0 && !relist {
				txn.Delete(e.key, nil)
				delete(model, e.key)
				continue
			}
			txn.Put(e)
			model[e.key] = e
		}
		txn.Sweep()
		var want expected
		for _, e := range model {
			want.n, want.hash = want.n+1, want.hash+sumOne(e)
		}
		models.Store(s.Snapshot().Version()+1, want)
		txn.Commit()
		switch i % 20 { // adding or removing an index publishes a new state of the same objects
		case 5:
			models.Store(s.Snapshot().Version()+1, want)
			mustIndex(t, s, "second", byNamespace())
		case 15:
			models.Store(s.Snapshot().Version()+1, want)
			if err := s.RemoveIndex("second"); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	readers.Wait()
}

// An open iteration blocks nothing, and continues over the state it began with.
func TestIterationHeldOpen(t *testing.T) {
	s := New(Checked(Options{}))
	mustIndex(t, s, "app", ByLabel("app"))
	txn := s.Begin()
	var want []string
	for i := range 500 {
		txn.Put(at(fmt.Sprintf("p%03d u%d@%d app=web", i, i, i+1)))
		want = append(want, fmt.Sprintf("u%d@%d", i, i+1))
	}
	txn.Commit()
	byIndex, err := s.Snapshot().Index("app", "web")
	if err != nil {
		t.Fatal(err)
	}
	for name, seq := range map[string]iter.Seq[*Entry]{"All": s.Snapshot().All(), "Index": byIndex} {
		next, stop := iter.Pull(seq)
		defer stop()
		var got []string
		for range 250 {
			e, _ := next()
			got = append(got, id(e))
		}
		for i := range short(500, 1000) { // the writer goes on
			commit(s, fmt.Sprintf("+p%03d other@%d app=db", i%500, 1000+i), fmt.Sprintf("xp%03d", (i+250)%500))
		}
		for e, ok := next(); ok; e, ok = next() {
			got = append(got, id(e))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d entries, or others than at the start", name, len(got))
		}
	}
}

// AddIndex runs in many goroutines beside the writer: each index covers exactly the stored objects.
func TestIndexesAddedBesideAWriter(t *testing.T) {
	s := New(Checked(Options{}))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprint("index-", i)
			for range 20 {
				if err := s.AddIndex(name, ByLabel("app")); err != nil {
					t.Error(err)
				}
				snap := s.Snapshot()
				seq, err := snap.Select(Query{Where: Or(Is(name, "a"), Is(name, "b"))})
				if err != nil {
					t.Error(err)
					return
				}
				n, hash := sum(seq)
				if m, all := sum(snap.All()); n != m || hash != all {
					t.Errorf("%s holds %d of %d objects", name, n, m)
				}
				if err := s.RemoveIndex(name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 500 {
		commit(s, fmt.Sprintf("+p%d u@%d app=%c", i%50, i+1, 'a'+i%2), fmt.Sprintf("xp%d", (i+7)%50))
	}
	wg.Wait()
}

// A second writer waits for the first.
func TestOneTxnAtATime(t *testing.T) {
	s := New(Checked(Options{}))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				txn := s.Begin()
				n := s.Snapshot().Len()
				txn.Put(at(fmt.Sprintf("p-%d-%d u@1", i, j)))
				if j%10 == 9 {
					txn.Discard()
					continue
				}
				txn.Put(at(fmt.Sprintf("q-%d-%d u@1", i, j)))
				if changes := txn.Commit(); changes.Len() != 2 {
					t.Errorf("%d changes", changes.Len())
				}
				if s.Snapshot().Len() < n+2 {
					t.Error("a commit was lost")
				}
			}
		})
	}
	wg.Wait()
	if got := s.Snapshot().Len(); got != 8*45*2 {
		t.Errorf("%d objects", got)
	}
}

// The trees and the transaction free replaced and deleted objects.
func TestReplacedObjectsAreCollected(t *testing.T) {
	s := New(Checked(Options{}))
	mustIndex(t, s, "app", ByLabel("app"))
	n := short(600, 3000)
	var replaced []weak.Pointer[Entry]
	func() {
		txn := s.Begin()
		for i := range n {
			e := at(fmt.Sprintf("p%d u%d@%d app=%d", i, i, i+1, i%7))
			replaced = append(replaced, weak.Make(e))
			txn.Put(e)
		}
		txn.Commit()
		for i := range n {
			if i%2 == 0 {
				commit(s, fmt.Sprintf("+p%d u%d@%d app=%d", i, i, n+i, i%5))
			} else {
				commit(s, fmt.Sprintf("xp%d", i))
			}
		}
	}()
	runtime.GC()
	runtime.GC()
	held := 0
	for _, p := range replaced {
		if p.Value() != nil {
			held++
		}
	}
	if held > 0 {
		t.Errorf("%d of %d entries are held, and no state has them", held, n)
	}
	runtime.KeepAlive(s)
}
