package workqueue

import (
	"math"
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

// One burst does not hold memory for ever. Repeated bursts do not allocate again.
func TestMemoryOfABurstIsReturned(t *testing.T) {
	core, err := NewCore(Options[int, struct{}]{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	burst := func(n int) {
		for k := range n {
			core.Add(k, AddOptions[struct{}]{}, now)
		}
		for range n {
			item, _ := core.Get(now)
			core.Done(item.Key, now)
		}
	}
	for range 3 {
		burst(100_000)
		if core.room() < 100_000 || core.room() > 101_000 {
			t.Errorf("room for %d after a burst of 100,000", core.room())
		}
	}
	burst(1)
	if core.room() > 1024 {
		t.Errorf("room for %d when only one is needed", core.room())
	}
	burst(10)
}

// The memory of a burst is freed even if a few keys stay for ever. Those keys stay usable.
func TestMemoryOfABurstBesideDelayedKeysIsReturned(t *testing.T) {
	core, err := NewCore(Options[int, int]{MaxWait: -1})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	const burst, stay = 100_000, 300
	core.Add(-1, AddOptions[int]{Priority: -1}, now) // ready all the time
	for k := range burst {
		core.Add(k, AddOptions[int]{Value: k, Priority: k % 3}, now)
	}
	for range burst {
		item, _ := core.Get(now)
		if item.Key%(burst/stay) == 0 { // spread over all pages
			core.Add(item.Key, AddOptions[int]{Value: -item.Key, After: time.Hour}, now)
		}
		core.Done(item.Key, now)
	}
	for range 2 {
		if room := core.room(); room < burst {
			t.Errorf("room for %d at once after a burst of %d", room, burst)
		}
		now = now.Add(50 * time.Second)
		core.Stats(now)
	}
	now = now.Add(time.Minute)
	s := core.Stats(now)
	if room := core.room(); room > 1024 || cap(core.ready.ages) > 1024 || cap(core.delayed.place) > 1024 {
		t.Errorf("room for %d, %d ages and %d places, when %d wait", room, cap(core.ready.ages), cap(core.delayed.place), s.Delayed)
	}
	if s.Delayed < stay || s.Delayed > stay+1 {
		t.Errorf("%d are delayed", s.Delayed)
	}
	now = now.Add(time.Hour)
	for range s.Delayed {
		item, ok := core.Get(now)
		if !ok || item.Value != -item.Key || item.Key%(burst/stay) != 0 {
			t.Fatalf("handed out %+v, %v", item, ok)
		}
		core.Done(item.Key, now)
	}
}

// A low item that is never handed out does not make the queue keep the items before it.
func TestStarvedItemKeepsNoOtherAlive(t *testing.T) {
	core, err := NewCore(Options[int, struct{}]{MaxWait: -1})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	core.Add(-1, AddOptions[struct{}]{Priority: -1}, now)
	for k := range 100_000 {
		core.Add(k, AddOptions[struct{}]{}, now)
		item, _ := core.Get(now)
		core.Done(item.Key, now)
	}
	if room := cap(core.ready.ages); room > 128 {
		t.Errorf("room for the ages of %d, with one ready", room)
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
	if levels, order := len(core.ready.levels), len(core.ready.order); levels > 16 || order > 0 {
		t.Errorf("%d levels kept, %d in use, with nothing ready", levels, order)
	}
}
