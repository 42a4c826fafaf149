package ahead_test

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/ahead"
	"github.com/flyball-io/flyball/run"
)

// processors sets GOMAXPROCS for a test.
func processors(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	ahead.ResumeHelpers()
}

func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func small(int) int { return 100 }

func TestAheadKeepsTheOrder(t *testing.T) {
	for _, procs := range []int{1, 2, 8} {
		processors(t, procs)
		for n := range 260 {
			var computed atomic.Int32
			seq := ahead.Map(upTo(n), small, func(i int) (string, error) {
				computed.Add(1)
				if i%7 == 3 {
					return "", fmt.Errorf("%d is bad", i)
				}
				return fmt.Sprint(i), nil
			})
			for range 2 { // it can be run again
				i := 0
				for s, err := range seq {
					if i%7 == 3 {
						if err == nil || err.Error() != fmt.Sprintf("%d is bad", i) {
							t.Fatalf("%d of %d: error %v", i, n, err)
						}
					} else if s != fmt.Sprint(i) || err != nil {
						t.Fatalf("%d of %d: %q %v", i, n, s, err)
					}
					i++
				}
				if i != n {
					t.Fatalf("%d of %d were yielded", i, n)
				}
			}
			if int(computed.Load()) != 2*n {
				t.Fatalf("%d computed for twice %d", computed.Load(), n)
			}
		}
	}
}

// A loop that ends early has computed few unused values, and no goroutine runs any more.
func TestAheadStopsWithTheLoop(t *testing.T) {
	for _, procs := range []int{1, 4} {
		processors(t, procs)
		for leave := 1; leave < 200; leave++ {
			var computed, running atomic.Int32
			i := 0
			for range ahead.Map(upTo(1000), small, func(int) (int, error) {
				running.Add(1)
				defer running.Add(-1)
				computed.Add(1)
				runtime.Gosched()
				return 0, nil
			}) {
				if i++; i == leave {
					break
				}
			}
			if running.Load() != 0 {
				t.Fatal("some are still computed")
			}
			most := i
			if procs > 1 && i > 16 {
				most = min(i+63, 3*i)
			}
			if int(computed.Load()) > most {
				t.Errorf("%d processors: %d computed for %d that were used", procs, computed.Load(), leave)
			}
		}
	}
}

// Values are computed concurrently: each call waits for another one.
func TestAheadComputesConcurrently(t *testing.T) {
	processors(t, 4)
	var mu sync.Mutex
	var waits chan struct{}
	n := 0
	for i, err := range ahead.Map(upTo(48), small, func(i int) (int, error) {
		if i < 16 {
			return i, nil
		}
		mu.Lock()
		if waits == nil {
			waits = make(chan struct{})
			other := waits
			mu.Unlock()
			<-other
			return i, nil
		}
		close(waits)
		waits = nil
		mu.Unlock()
		return i, nil
	}) {
		if i != n || err != nil {
			t.Fatalf("%d %v, want %d", i, err, n)
		}
		n++
	}
}

// While the loop is at one value, the values after it are computed.
func TestAheadComputesDuringAnIteration(t *testing.T) {
	processors(t, 2)
	later := make(chan struct{})
	for i, err := range ahead.Map(upTo(100), small, func(i int) (int, error) {
		if i == 40 {
			close(later)
		}
		return i, nil
	}) {
		if i == 16 {
			<-later
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// After a loop has waited long for a helper, neither it nor other loops have helpers for a while.
func TestAheadPausesHelpersAfterALongWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		processors(t, 2)
		helped := func(long time.Duration) bool {
			var busy atomic.Int32
			var helped atomic.Bool
			slow := make(chan struct{})
			for i := range ahead.Map(upTo(100), small, func(i int) (int, error) {
				if busy.Add(1) > 1 {
					helped.Store(true)
				}
				defer busy.Add(-1)
				if i == 40 && long > 0 {
					close(slow)
					time.Sleep(long)
				}
				time.Sleep(time.Microsecond)
				return i, nil
			}) {
				if i == 16 && long > 0 {
					<-slow // a helper is slow
				}
			}
			return helped.Load()
		}
		for _, step := range []struct {
			long, then time.Duration
			want       bool
		}{{0, 0, true}, {5 * time.Millisecond, 0, true}, {0, 0, false}, {0, 400 * time.Millisecond, false}, {0, 0, false}, {0, 100 * time.Millisecond, false}, {0, 0, true}} {
			if got := helped(step.long); got != step.want {
				t.Errorf("%v: helped %v", step, got)
			}
			time.Sleep(step.then)
		}
	})
}

// Few values are held at the start, and few large ones.
func TestAheadBoundsHeldValues(t *testing.T) {
	for _, tc := range []struct {
		name string
		size int
		most func(yielded int) int
	}{
		{"small", 100, func(yielded int) int { return min(2*yielded, 64) }},
		{"large", 300 << 10, func(int) int { return 3 }}, // four exceed a mebibyte
		{"huge", 5 << 20, func(int) int { return 1 }},
	} {
		pulled, yielded, most := 0, 0, 0
		seq := func(yield func(int) bool) {
			for i := range 200 {
				if pulled++; !yield(i) {
					return
				}
			}
		}
		for range ahead.Map(seq, func(int) int { return tc.size }, func(i int) (int, error) { return i, nil }) {
			held := pulled - yielded - 1 // the last one pulled waits for room
			if yielded >= 16 && held > tc.most(yielded) {
				t.Fatalf("%s: %d held when %d were yielded", tc.name, held, yielded)
			}
			most = max(most, held)
			yielded++
		}
		if most < tc.most(200) {
			t.Errorf("%s: never more than %d held", tc.name, most)
		}
	}
}

func TestAheadPanicReachesTheLoop(t *testing.T) {
	processors(t, 4)
	for _, bad := range []int{0, 15, 16, 17, 40, 99} {
		yielded := 0
		func() {
			defer func() {
				v := recover()
				if p, ok := v.(*run.PanicError); ok {
					v = p.Value
				}
				if v != "bad" {
					t.Errorf("%d: panic %v", bad, v)
				}
			}()
			for range ahead.Map(upTo(100), small, func(i int) (int, error) {
				if i == bad {
					panic("bad")
				}
				return i, nil
			}) {
				yielded++
			}
		}()
		if yielded != bad {
			t.Errorf("%d were yielded before %d", yielded, bad)
		}
	}
}

// If f ends its goroutine, as t.FailNow does, no loop waits for ever or continues without the
// value.
func TestAheadGoexitEndsTheLoop(t *testing.T) {
	processors(t, 2)
	leaves := make(chan struct{})
	yielded := 0
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, run.ErrGoexit) || yielded != 40 {
			t.Errorf("%v after %d", err, yielded)
		}
	}()
	for i := range ahead.Map(upTo(100), small, func(i int) (int, error) {
		if i == 40 {
			close(leaves)
			runtime.Goexit()
		}
		return i, nil
	}) {
		if i == 16 {
			<-leaves // now f leaves a helper's goroutine, not this one
		}
		yielded++
	}
}

func ExampleMap() {
	words := slices.Values([]string{"one", "two", "three"})
	for n, err := range ahead.Map(words, func(s string) int { return len(s) }, func(s string) (int, error) { return len(s), nil }) {
		fmt.Println(n, err)
	}
	// Output:
	// 3 <nil>
	// 3 <nil>
	// 5 <nil>
}
