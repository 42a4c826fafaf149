package workqueue

import (
	"runtime"
	"testing"
	"time"
	"weak"
)

type thing struct{ _ [64]byte }

// queueThing puts a new key with a new value in a queue, and holds on to neither.
//
//go:noinline
func queueThing(put func(key, value *thing)) (key, value weak.Pointer[thing]) {
	k, v := &thing{}, &thing{}
	put(k, v)
	return weak.Make(k), weak.Make(v)
}

// What was handed out and done is garbage, by whatever way it went through the queue, also while
// the queue lives on and holds other keys; and a value is garbage as soon as it is handed out.
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

// One burst does not cost memory for ever; bursts that come again do not allocate again.
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
		if core.pool.size < 100_000 || core.pool.size > 101_000 {
			t.Errorf("room for %d after a burst of 100,000", core.pool.size)
		}
	}
	burst(1)
	if core.pool.size > 1024 {
		t.Errorf("room for %d when only one is needed", core.pool.size)
	}
	burst(10)
}

func TestPrioritiesOutOfUseTakeNoMemory(t *testing.T) {
	core, err := NewCore(Options[int, struct{}]{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	core.Add(-1, AddOptions[struct{}]{Priority: 1 << 40}, now) // stays on top
	for p := range 1000 {
		core.Add(1, AddOptions[struct{}]{Priority: p}, now) // rises
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
	if levels, order := len(core.ready.levels), len(core.ready.order); levels > 1 || order > 0 {
		t.Errorf("%d levels kept, %d in use, with nothing ready", levels, order)
	}
}
