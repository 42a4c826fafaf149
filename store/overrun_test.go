package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/object"
)

// sleeper is an index function that sleeps on some objects.
type sleeper struct {
	mu      sync.Mutex
	sleep   map[string]time.Duration
	running int
	calls   int
	most    int // largest number of concurrent calls
}

func (s *sleeper) index(e *Entry) ([]string, error) {
	s.mu.Lock()
	d := s.sleep[e.key.Name]
	s.calls++
	s.running++
	s.most = max(s.most, s.running)
	s.mu.Unlock()
	time.Sleep(d)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}()
	return byApps(e)
}

func (s *sleeper) set(name string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sleep[name] = d
}

// overdueCalls collects the reports of a store about slow calls.
type overdueCalls struct {
	mu    sync.Mutex
	begin time.Time
	lines []string
}

func (o *overdueCalls) add(index string, key object.Key, began time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, fmt.Sprintf("%s %s %s at %s", index, key.Name, began.Sub(o.begin), time.Since(o.begin)))
}

// TestSleepingIndexFunctionDelaysTheWriterOneSecond: a call that takes five minutes delays the
// writer for one second, and its index until it returns. It is reported once.
func TestSleepingIndexFunctionDelaysTheWriterOneSecond(t *testing.T) {
	for _, kind := range []string{"may keep", "transient"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				overdue := overdueCalls{begin: time.Now()}
				var reused [][]byte
				s := New(Checked(Options{OnOverdue: overdue.add, Recycle: func(b []byte) { reused = append(reused, b) }}))
				slow := &sleeper{sleep: map[string]time.Duration{"slow": 5 * time.Minute}}
				by := Indexer(IndexFunc(slow.index))
				if kind == "transient" {
					by = Transient(slow.index)
				}
				mustIndex(t, s, "slow", by)
				mustIndexFunc(t, s, "own", byApps)
				mustIndex(t, s, "app", ByLabel("app"))
				commit(s, "+one u@1 app=a")
				if got := under(t, s.Snapshot(), "slow"); got != "a: one" {
					t.Fatalf("the index holds %q", got)
				}
				was := s.Snapshot()
				began := time.Now()
				entry := at("slow v@2 app=a")
				reused = nil
				txn := s.Begin()
				txn.Put(entry)
				txn.Put(at("two w@3 app=a"))
				txn.Commit()
				if took := time.Since(began); took != time.Second {
					t.Errorf("the writer waited for %v", took)
				}
				for _, b := range reused {
					if &b[0] == &entry.Raw().Bytes[0] {
						t.Error("the bytes are reused while the function looks at them")
					}
				}
				began = time.Now()
				commit(s, "+three x@4 app=b", "+one u@5 app=b")
				snap := s.Snapshot()
				for _, name := range []string{"own", "app"} {
					if got := under(t, snap, name); got != "a: slow two; b: one three" {
						t.Errorf("%s holds %q", name, got)
					}
				}
				if _, ok := snap.Lookup(object.Key{Name: "slow"}); !ok {
					t.Error("the object is not there")
				}
				if time.Since(began) != 0 {
					t.Errorf("others waited for %v", time.Since(began))
				}
				if got := under(t, was, "slow"); got != "a: one" {
					t.Errorf("an earlier snapshot holds %q", got)
				}
				var late *IndexPendingError
				_, err := snap.Select(Query{Where: Or(Is("app", "a"), Is("slow", "a"))})
				if !errors.As(err, &late) || !errors.Is(err, object.ErrNoAnswer) {
					t.Fatalf("a read of the index: %v", err)
				}
				if late.Index != "slow" || late.Key.Name != "slow" || late.Missing != 4 || !late.Asked.Equal(overdue.begin) || !late.Since.Equal(overdue.begin.Add(time.Second)) {
					t.Errorf("the error is %+v", late)
				}
				if _, err := snap.IndexValues("slow"); !errors.As(err, &late) {
					t.Errorf("values of the index: %v", err)
				}
				time.Sleep(5*time.Minute - time.Second - 1)
				synctest.Wait()
				if _, err := s.Snapshot().Index("slow", "a"); !errors.As(err, &late) {
					t.Errorf("before the function returned: %v", err)
				}
				time.Sleep(1 * time.Nanosecond)
				synctest.Wait()
				if got := under(t, s.Snapshot(), "slow"); got != "a: slow two; b: one three" {
					t.Errorf("the index holds %q afterwards", got)
				}
				commit(s, "+four y@6 app=b")
				if got := under(t, s.Snapshot(), "slow"); got != "a: slow two; b: four one three" {
					t.Errorf("the index holds %q later", got)
				}
				if slow.most != 1 || slow.calls != 6 {
					t.Errorf("%d calls, %d at once", slow.calls, slow.most)
				}
				if len(overdue.lines) != 1 || overdue.lines[0] != "slow slow 0s at 1s" {
					t.Errorf("overdue %q", overdue.lines)
				}
				s.Close()
			})
		})
	}
}

// TestSleepingIndexFunctionDelaysARelistOneSecond: the writer also stops waiting for the calls of a
// relist. The index is not asked about discarded objects.
func TestSleepingIndexFunctionDelaysARelistOneSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Checked(Options{}))
		slow := &sleeper{sleep: map[string]time.Duration{"slow": time.Minute, "p7": 2 * time.Second}}
		mustIndexFunc(t, s, "slow", slow.index)
		list := func(version int) *Txn {
			txn := s.Begin()
			txn.Replace()
			for i := range 30 {
				txn.Put(at(fmt.Sprintf("p%d u%d@%d app=%c", i, i, version*100+i, 'a'+i%2)))
			}
			txn.Put(at(fmt.Sprintf("slow s@%d app=b", version*100+50)))
			return txn
		}
		began := time.Now()
		list(1).Discard()
		if took := time.Since(began); took != time.Second {
			t.Errorf("a list took %v", took)
		}
		synctest.Wait()
		txn := list(2) // the function still runs for p7 of the first list
		txn.Sweep()
		txn.Commit()
		if took := time.Since(began); took != time.Second {
			t.Errorf("two lists took %v", took)
		}
		if _, err := s.Snapshot().Index("slow", "a"); err == nil {
			t.Error("the index answers")
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		want := "a: p0 p10 p12 p14 p16 p18 p2 p20 p22 p24 p26 p28 p4 p6 p8; b: p1 p11 p13 p15 p17 p19 p21 p23 p25 p27 p29 p3 p5 p7 p9 slow"
		if got := under(t, s.Snapshot(), "slow"); got != want {
			t.Errorf("the index holds %q", got)
		}
		if slow.most != 1 {
			t.Errorf("%d calls at once", slow.most)
		}
		s.Close()
	})
}

// TestAddIndexBlocksNothing: AddIndex blocks nothing, also while objects change and a list is open.
func TestAddIndexBlocksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Checked(Options{}))
		commit(s, "+p1 u@1 app=a", "+p2 v@2 app=bad")
		slow := &sleeper{sleep: map[string]time.Duration{"p1": time.Minute, "p3": time.Minute}}
		done := make(chan error)
		go func() { done <- s.AddIndex("slow", IndexFunc(slow.index)) }()
		synctest.Wait()
		began := time.Now()
		commit(s, "+p1 u@3 app=b", "+p3 w@4 app=a")
		if _, err := s.Snapshot().Index("slow", "a"); err == nil {
			t.Error("the index answers before it is built")
		}
		if err := s.AddIndex("slow", IndexFunc(slow.index)); err == nil {
			t.Error("the name is taken")
		}
		open := s.Begin()
		open.Put(at("p4 x@5 app=a"))
		if time.Since(began) != 0 {
			t.Errorf("the writer waited for %v", time.Since(began))
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 3*time.Minute { // p1, and then the current p1 and p3
			t.Errorf("it took %v", took)
		}
		if got := under(t, s.Snapshot(), "slow"); got != "a: p2! p3; b: p1 p2!" {
			t.Errorf("the index holds %q", got)
		}
		open.Commit()
		if got := under(t, s.Snapshot(), "slow"); got != "a: p2! p3 p4; b: p1 p2!" {
			t.Errorf("the index holds %q after the commit", got)
		}
		if e, _ := s.Snapshot().Lookup(object.Key{Name: "p2"}); e.Err() == nil {
			t.Error("the object on which it fails is not rejected")
		}
		s.Close()
	})
}

// TestLateIndexErrorCountsAsInTime: an answer after the writer went on has the same effect as one in
// time.
func TestLateIndexErrorCountsAsInTime(t *testing.T) {
	for _, app := range []string{"bad", "panic"} {
		synctest.Test(t, func(t *testing.T) {
			rejections := 0
			s := New(Checked(Options{OnRejected: func() { rejections++ }}))
			slow := &sleeper{sleep: map[string]time.Duration{"slow": time.Minute}}
			mustIndexFunc(t, s, "slow", slow.index)
			commit(s, "+slow u@1 app="+app)
			if e, _ := s.Snapshot().Lookup(object.Key{Name: "slow"}); e.Err() != nil {
				t.Errorf("it is rejected: %v", e.Err())
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			e, _ := s.Snapshot().Lookup(object.Key{Name: "slow"})
			if e.Err() == nil || rejections != 1 {
				t.Errorf("it is not rejected: %d", rejections)
			}
			changes := s.Begin().Commit()
			n := 0
			for c := range changes.All() {
				if n++; c.New.Err() == nil || c.Old.Err() != nil {
					t.Errorf("the change is %+v", c)
				}
			}
			if n != 1 {
				t.Errorf("%d changes", n)
			}
			s.Close()
		})
	}
}

// TestIndexFunctionThatNeverReturnsCostsOneGoroutine costs one goroutine, also if the object comes
// and goes.
func TestIndexFunctionThatNeverReturnsCostsOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Checked(Options{}))
		slow := &sleeper{sleep: map[string]time.Duration{"slow": 1000 * time.Hour}}
		mustIndexFunc(t, s, "slow", slow.index)
		began := time.Now()
		for i := range 100 {
			commit(s, fmt.Sprintf("+slow u%d@%d app=a", i, 2*i+1))
			commit(s, "x slow")
		}
		slow.mu.Lock()
		running := slow.running
		slow.mu.Unlock()
		if took := time.Since(began); took != time.Second || running != 1 {
			t.Errorf("it took %v, %d calls run", took, running)
		}
		if got := under(t, s.Snapshot(), "slow"); got != "" {
			t.Errorf("the index holds %q", got)
		}
		if err := s.RemoveIndex("slow"); err != nil {
			t.Fatal(err)
		}
		slow.set("slow", 0)
		mustIndexFunc(t, s, "slow", slow.index)
		commit(s, "+slow u@1000 app=b")
		if got := under(t, s.Snapshot(), "slow"); got != "b: slow" {
			t.Errorf("another index of the name holds %q", got)
		}
		s.Close()
		if took := time.Since(began); took != 1000*time.Hour {
			t.Errorf("Close returned after %v", took)
		}
	})
}

// TestPendingIndexAgreesWithANewOne: any calls overrun while objects are written, discarded, listed
// and compacted. An index then agrees with a newly built one, or returns an error.
func TestPendingIndexAgreesWithANewOne(t *testing.T) {
	for seed := range uint64(short(4, 20)) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := New(Checked(Options{}))
			slow := &sleeper{sleep: map[string]time.Duration{}}
			mustIndexFunc(t, s, "slow", slow.index)
			mustIndexFunc(t, s, "quick", byApps)
			version, answered, refused := 0, 0, 0
			var added sync.WaitGroup
			put := func(txn *Txn) {
				version++
				app := []string{"a", "b", "a.b", "bad", "c"}[r.IntN(5)]
				name := fmt.Sprintf("p%d", r.IntN(20))
				slow.set(name, []time.Duration{0, 0, time.Minute / 2, 900 * time.Millisecond, 3 * time.Second}[r.IntN(5)])
				txn.Put(at(fmt.Sprintf("%s u%d@%d app=%s", name, r.IntN(2), version, app)))
			}
			look := func() {
				synctest.Wait()
				snap := s.Snapshot()
				if _, err := snap.IndexValues("slow"); err != nil {
					refused++
					return
				}
				answered++
				// Objects rejected by the late index are under every value; so are those rejected by
				// "quick".
				if slow, quick := under(t, snap, "slow"), under(t, snap, "quick"); slow != quick {
					t.Fatalf("seed %d, version %d: the index holds %q, not %q", seed, version, slow, quick)
				}
			}
			for i := range 60 {
				txn := s.Begin()
				switch r.IntN(10) {
				case 0:
					txn.Replace()
					for range 15 {
						put(txn)
					}
					if r.IntN(2) == 0 {
						txn.Sweep()
					}
				case 1:
					put(txn)
					txn.Discard()
				case 2:
					if i%7 == 0 {
						name := fmt.Sprint("added ", i)
						added.Go(func() { mustIndexFunc(t, s, name, slow.index) })
					}
				default:
					for range 1 + r.IntN(4) {
						if put(txn); r.IntN(3) == 0 {
							txn.Delete(object.Key{Name: fmt.Sprintf("p%d", r.IntN(20))}, nil)
						}
					}
				}
				txn.Commit()
				look()
				if r.IntN(4) == 0 {
					time.Sleep(time.Duration(r.IntN(120)) * time.Second)
				}
				for s.Compact() {
					continue
				}
				s.Rebuild()
				look()
			}
			added.Wait()
			time.Sleep(time.Hour)
			before := answered
			look()
			if answered == before || refused == 0 {
				t.Errorf("seed %d: %d answers, %d refused", seed, answered, refused)
			}
			s.Begin().Commit()
			s.Close()
		})
	}
}
