package workqueue

import (
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"
	"weak"
)

type thing struct{ _ [64]byte }

// queueThing puts a new key with a new value into a queue and keeps neither alive.
//
//go:noinline
func queueThing(put func(key, value *thing)) (key, value weak.Pointer[thing]) {
	k, v := &thing{}, &thing{}
	put(k, v)
	return weak.Make(k), weak.Make(v)
}

// A key is garbage once it is handed out and done, by any way through the queue, even while the
// queue holds other keys. A value is garbage as soon as it is handed out.
func TestHandedOutIsNotKeptAlive(t *testing.T) {
	q, err := New(Options[*thing, *thing]{RateLimiter: ExponentialLimiter[*thing](time.Microsecond, time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	other := &thing{}
	q.AddWith(other, AddOptions[*thing]{Priority: -1000, After: time.Hour})

	for name, way := range map[string]func(key, value *thing){
		"plain": func(k, v *thing) { q.AddWith(k, AddOptions[*thing]{Value: v}) },
		"delayed": func(k, v *thing) {
			q.AddWith(k, AddOptions[*thing]{Value: v, After: time.Microsecond})
		},
		"a delay cut": func(k, v *thing) {
			q.AddWith(k, AddOptions[*thing]{Value: &thing{}, After: time.Hour})
			q.AddWith(k, AddOptions[*thing]{Value: v})
		},
		"raised": func(k, v *thing) {
			q.AddWith(k, AddOptions[*thing]{Value: v})
			q.AddWith(k, AddOptions[*thing]{Value: v, Priority: 3})
		},
		"retried": func(k, v *thing) {
			q.AddWith(k, AddOptions[*thing]{Value: v})
			item, _ := q.Get(t.Context())
			q.Retry(item)
			q.Done(item.Key)
			q.Forget(item.Key)
		},
		"twice": func(k, v *thing) {
			q.AddWith(k, AddOptions[*thing]{Value: v})
			item, _ := q.Get(t.Context())
			q.AddWith(k, AddOptions[*thing]{Value: v})
			q.Done(item.Key)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				key, value := queueThing(way)
				if runtime.GC(); key.Value() == nil || value.Value() == nil {
					t.Fatal("what is queued is gone")
				}
				if _, ok := q.Get(t.Context()); !ok {
					t.Fatal("nothing handed out")
				}
				if runtime.GC(); value.Value() != nil {
					t.Error("a value is alive after its hand-out")
				}
				q.Done(key.Value())
				if runtime.GC(); key.Value() != nil {
					t.Error("a key is alive after Done")
				}
			}
		})
	}
	runtime.KeepAlive(q)
	runtime.KeepAlive(other)
}

func TestParkedGetKeepsNothingAlive(t *testing.T) {
	q, err := New(Options[*thing, *thing]{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan [2]weak.Pointer[thing])
	go func() {
		item, _ := q.Get(t.Context())
		q.Done(item.Key)
		got <- [2]weak.Pointer[thing]{weak.Make(item.Key), weak.Make(item.Value)}
	}()
	q.AddWith(&thing{}, AddOptions[*thing]{Value: &thing{}, After: time.Millisecond})
	both := <-got
	runtime.GC()
	if both[0].Value() != nil || both[1].Value() != nil {
		t.Error("alive")
	}
	runtime.KeepAlive(q)
}

// One burst does not hold memory for ever, even if a few keys stay. Those keys stay usable.
func TestMemoryOfABurstIsReturned(t *testing.T) {
	for _, stay := range []int{0, 1, 300} {
		core, err := NewCore(Options[int, int]{MaxWait: -1})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(0, 0)
		const burst = 30_000
		for k := range burst {
			core.Add(k, AddOptions[int]{Value: k, Priority: k % 3}, now)
		}
		whole := core.entries.entries
		for n := range burst {
			item, _ := core.Get(now)
			if n%100 == 0 && n < 100*stay {
				core.Add(item.Key, AddOptions[int]{Value: -item.Key, After: time.Hour}, now)
			}
			core.Done(item.Key, now)
		}
		if same := reflect.ValueOf(whole).Pointer() == reflect.ValueOf(core.entries.entries).Pointer(); same || core.peak > 8*defaultKeep || len(core.free) > defaultKeep {
			t.Errorf("%d stay: same map %t, made for %d, %d free entries", stay, same, core.peak, len(core.free))
		}
		now = now.Add(time.Hour)
		for range stay {
			item, ok := core.Get(now)
			if !ok || item.Value != -item.Key {
				t.Fatalf("handed out %+v, %v", item, ok)
			}
			core.Done(item.Key, now)
		}
		if _, ok := core.Get(now); ok || len(core.entries.entries) != 0 {
			t.Errorf("%d stay: %d keys at the end", stay, len(core.entries.entries))
		}
	}
}

// The delayed keys that shutDown drops leave nothing behind.
func TestShutDownReturnsMemory(t *testing.T) {
	core, err := NewCore(Options[int, struct{}]{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	for k := range 30_000 {
		core.Add(k, AddOptions[struct{}]{After: time.Hour}, now)
	}
	if core.ShutDown(now); len(core.entries.entries) != 0 || core.delayed != nil || core.peak != 0 {
		t.Errorf("%d keys, %d delayed, a map for %d", len(core.entries.entries), len(core.delayed), core.peak)
	}
}

// An entry that is used for another key has nothing of its last one.
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
		want := 1 // in the backoff, which the entry of k-1 had, too
		if k%2 == 0 {
			core.Forget(k)
		}
		core.Add(k, AddOptions[struct{}]{RateLimited: true}, now)
		if n := core.NumRequeues(k); n != want {
			t.Fatalf("key %d: %d failures counted, want %d", k, n, want)
		}
		core.Add(k, AddOptions[struct{}]{}, now)
		core.Done(k, now)
		item, _ := core.Get(now)
		core.Done(item.Key, now)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	q, err := New(Options[string, struct{}]{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	some := []Add[string, struct{}]{{Key: "b"}, {Key: "c", AddOptions: AddOptions[struct{}]{Priority: 9}}}
	n := testing.AllocsPerRun(1000, func() {
		q.AddWith("a", AddOptions[struct{}]{Priority: 3, After: 1})
		q.Add("a")
		q.AddAll(some)
		item, _ := q.Get(ctx)
		item, _ = q.Next(ctx, item.Key)
		q.Done(item.Key)
		item, _ = q.Get(ctx)
		q.Done(item.Key)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestUnusedPrioritiesTakeNoMemory(t *testing.T) {
	core, err := NewCore(Options[int, struct{}]{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	core.Add(-1, AddOptions[struct{}]{Priority: math.MaxInt32}, now) // stays on top
	for p := range 1000 {
		core.Add(1, AddOptions[struct{}]{Priority: p}, now) // raised each time
		core.Add(2, AddOptions[struct{}]{Priority: p % 7}, now)
	}
	for range 3 {
		core.Get(now)
	}
	for p := range 1000 {
		core.Add(10+p, AddOptions[struct{}]{Priority: p}, now)
		core.Add(2000, AddOptions[struct{}]{Priority: p}, now)
		core.Get(now)
		core.Get(now)
	}
	if levels := core.ready.levels; len(levels) > 0 || cap(levels) > 16 {
		t.Errorf("%d levels in use, room for %d, with nothing ready", len(levels), cap(levels))
	}
}
