package store

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/run"
)

// TestCatchUpEndsWithTheRunningCall: after Close or RemoveIndex only the running call is finished,
// however many are missing. Answers given in the meantime are stored.
func TestCatchUpEndsWithTheRunningCall(t *testing.T) {
	for _, end := range []string{"close", "remove"} {
		synctest.Test(t, func(t *testing.T) {
			s := New(Checked(Options{}))
			slow := &sleeper{sleep: map[string]time.Duration{}}
			mustIndexFunc(t, s, "slow", slow.index)
			txn := s.Begin()
			for i := range 50 {
				name := fmt.Sprintf("p%d", i)
				slow.set(name, time.Minute)
				txn.Put(at(fmt.Sprintf("%s u%d@%d app=a", name, i, i+1)))
			}
			txn.Commit()
			time.Sleep(10*time.Minute + time.Second)
			synctest.Wait()
			var late *IndexPendingError
			if _, err := s.Snapshot().Index("slow", "a"); !errors.As(err, &late) || late.Missing != 40 {
				t.Errorf("after ten of fifty calls: %v", err)
			}
			began := time.Now()
			if end == "remove" {
				if err := s.RemoveIndex("slow"); err != nil {
					t.Error(err)
				}
			}
			s.Close()
			if took := time.Since(began); took > time.Minute || slow.calls != 11 {
				t.Errorf("%s: it took %v, %d calls", end, took, slow.calls)
			}
		})
	}
}

// TestIndexFunctionThatExitsRejectsTheObject: a function that ends its goroutine has failed on that
// object, also beside the writer and in AddIndex. It is still asked about the others.
func TestIndexFunctionThatExitsRejectsTheObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Checked(Options{}))
		exits := func(e *Entry) ([]string, error) {
			switch e.key.Name {
			case "slow":
				time.Sleep(time.Minute)
			case "exits":
				runtime.Goexit()
			}
			return byApps(e)
		}
		mustIndexFunc(t, s, "slow", exits)
		commit(s, "+slow u@1 app=a", "+exits v@2 app=a", "+one w@3 app=a")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := under(t, s.Snapshot(), "slow"); got != "a: exits! one slow" {
			t.Errorf("the index holds %q", got)
		}
		if err := s.RemoveIndex("slow"); err != nil {
			t.Fatal(err)
		}
		commit(s, "+exits v@4 app=a")
		go func() { _ = s.AddIndex("slow", IndexFunc(exits)) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := under(t, s.Snapshot(), "slow"); got != "a: exits! one slow" {
			t.Errorf("one that was added holds %q", got)
		}
		if _, err := s.Snapshot().Get(at("exits v@4").key); !errors.Is(err, run.ErrGoexit) {
			t.Errorf("the object: %v", err)
		}
		s.Close()
	})
}

// TestIndexCatchesUpWithAFastWriter: an index catches up with a writer that is faster than its
// function.
func TestIndexCatchesUpWithAFastWriter(t *testing.T) {
	for begin, pause := range map[string]time.Duration{"overrun": 500 * time.Microsecond, "added": time.Duration(short(100, 10)) * time.Microsecond} {
		t.Run(begin, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const objects = 20
				s := New(Checked(Options{}))
				var hiccup atomic.Int64
				var added sync.WaitGroup
				f := IndexFunc(func(e *Entry) ([]string, error) {
					time.Sleep(time.Millisecond + time.Duration(hiccup.Swap(0)))
					return byApps(e)
				})
				version := 0
				write := func() {
					version++
					commit(s, fmt.Sprintf("+p%d u%d@%d app=a", version%objects, version%objects, version))
				}
				for range objects {
					write()
				}
				if begin == "overrun" {
					mustIndexFunc(t, s, "slow", f)
					hiccup.Store(int64(short(1100, 2000)) * int64(time.Millisecond))
				} else {
					added.Go(func() { mustIndexFunc(t, s, "slow", f) })
				}
				wanted := short(100, 1000)
				began, answers := time.Now(), 0
				for time.Since(began) < 4*time.Second && answers < wanted {
					write()
					time.Sleep(pause)
					if _, err := s.Snapshot().Index("slow", "a"); err == nil {
						answers++
					}
				}
				if answers < wanted {
					t.Errorf("%d answers in %d writes", answers, version)
				}
				added.Wait()
				s.Close()
			})
		})
	}
}

// TestSlowIndexFunctionDelaysTheWriterBriefly: a function that is slow on each object delays the
// writer for a second once. Later it costs a tenth of a second each time its index has caught up,
// until it is quick.
func TestSlowIndexFunctionDelaysTheWriterBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		overdue := overdueCalls{begin: time.Now()}
		s := New(Checked(Options{OnOverdue: overdue.add}))
		slow := &sleeper{sleep: map[string]time.Duration{"p": 1500 * time.Millisecond}}
		mustIndexFunc(t, s, "slow", slow.index)
		version := 0
		write := func() time.Duration {
			version++
			began := time.Now()
			commit(s, fmt.Sprintf("+p u@%d app=a", version))
			took := time.Since(began)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if got := under(t, s.Snapshot(), "slow"); got != "a: p" {
				t.Fatalf("the index holds %q", got)
			}
			return took
		}
		for i := range 10 {
			want := 100 * time.Millisecond
			if i == 0 {
				want = time.Second
			}
			if took := write(); took != want {
				t.Errorf("write %d waited for %v", i, took)
			}
		}
		if len(overdue.lines) != 10 || overdue.lines[1] != "slow p 4s at 5s" {
			t.Errorf("overdue %q", overdue.lines)
		}
		slow.set("p", 50*time.Millisecond)
		for range 100 {
			if took := write(); took != 50*time.Millisecond {
				t.Errorf("a quick one waited for %v", took)
			}
		}
		slow.set("p", 500*time.Millisecond)
		if took := write(); took != 500*time.Millisecond {
			t.Errorf("one that takes half a second, after many that were quick, waited for %v", took)
		}
		if len(overdue.lines) != 10 {
			t.Errorf("overdue %q", overdue.lines)
		}
		s.Close()
	})
}
