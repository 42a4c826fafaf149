package workqueue

import (
	"testing"
	"time"
)

// A queue of few keys holds memory for few.
func TestAFewKeysTakeLittleMemory(t *testing.T) {
	core, err := NewCore(Options[int, [1024]byte]{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	for range 100 {
		for k := range 10 {
			core.Add(k, AddOptions[[1024]byte]{}, now)
		}
		for range 10 {
			item, _ := core.Get(now)
			core.Done(item.Key, now)
		}
	}
	if core.room() > 16 || cap(core.ready.ages) > 16 || len(core.table.groups) > 2 {
		t.Errorf("room for %d, %d ages and %d groups", core.room(), cap(core.ready.ages), len(core.table.groups))
	}
}

// The backoff of a released or forgotten key is not kept, and the next entry with its number has
// none.
func TestBackoffsAreForgotten(t *testing.T) {
	core, err := NewCore(Options[int, struct{}]{RateLimiter: ExponentialLimiter[int](time.Hour, time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	for k := range 300 {
		core.Add(k, AddOptions[struct{}]{RateLimited: true}, now)
		core.Add(k, AddOptions[struct{}]{}, now) // cuts the backoff short
		if item, ok := core.Get(now); !ok || item.Key != k {
			t.Fatalf("handed out %v, %v", item, ok)
		}
		if len(core.backoffs) != 1 {
			t.Fatalf("%d backoffs", len(core.backoffs))
		}
		if k%2 == 0 {
			core.Forget(k)
			if core.backoffs != nil {
				t.Fatalf("%v after Forget", core.backoffs)
			}
		}
		core.Done(k, now)
		if core.backoffs != nil {
			t.Fatalf("%v after Done", core.backoffs)
		}
	}
}

// Trimming keeps the rest of a backoff.
func TestBackoffSurvivesTrimming(t *testing.T) {
	core, err := NewCore(Options[int, struct{}]{RateLimiter: ExponentialLimiter[int](time.Hour, time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	const last = 9999
	for k := range last + 1 {
		core.Add(k, AddOptions[struct{}]{}, now)
	}
	for k := range last + 1 {
		core.Get(now)
		if k != last {
			core.Done(k, now)
		}
	}
	fail := func(want int) {
		t.Helper()
		core.Add(last, AddOptions[struct{}]{RateLimited: true}, now)
		core.Add(last, AddOptions[struct{}]{}, now) // cuts the backoff short
		if n := core.NumRequeues(last); n != want {
			t.Errorf("%d failures counted, want %d", n, want)
		}
		core.Done(last, now)
		core.Get(now)
	}
	fail(1)
	fail(1) // before the backoff has ended
	for range 3 {
		now = now.Add(time.Minute)
		core.Stats(now)
	}
	if core.room() > 1024 {
		t.Fatalf("room for %d: nothing was moved", core.room())
	}
	fail(1)
	now = now.Add(time.Hour)
	fail(2)
}

// Keys that are added and released, beside keys that stay, do not grow the table.
func TestChurnDoesNotGrowTheTable(t *testing.T) {
	core, err := NewCore(Options[int, struct{}]{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	for k := range 100 {
		core.Add(-1-k, AddOptions[struct{}]{After: time.Hour}, now)
	}
	for k := range 100_000 {
		core.Add(k, AddOptions[struct{}]{}, now)
		item, _ := core.Get(now)
		core.Done(item.Key, now)
	}
	if groups := len(core.table.groups); groups > 32 {
		t.Errorf("%d groups", groups)
	}
}

// Adds of keys that are queued already take no memory.
func TestDuplicatesTakeNoMemory(t *testing.T) {
	core, err := NewCore(Options[int, struct{}]{})
	if err != nil {
		t.Fatal(err)
	}
	core.Eager()
	now := time.Unix(0, 0)
	for k := range 100_000 {
		core.Add(k%10, AddOptions[struct{}]{Priority: k % 3}, now)
	}
	if n := core.Len(now); n != 10 || core.room() > 32 {
		t.Errorf("%d wait, room for %d", n, core.room())
	}
}
