package workqueue_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flyball-io/flyball/workqueue"
)

// ShutDown releases every parked Get, in both forms, at any time relative to adds and deadlines.
func TestParkedGetsAreReleased(t *testing.T) {
	for round := range 50 {
		q := newStrings(t, workqueue.Options[string, string]{})
		ctx, cancel := context.WithCancel(context.Background())
		var workers, others sync.WaitGroup
		for w := range 20 {
			workers.Go(func() {
				for item, ok := q.Get(ctx); ok; {
					if w%2 == 0 {
						item, ok = q.Next(ctx, item.Key)
						continue
					}
					q.Done(item.Key)
					item, ok = q.Get(ctx)
				}
			})
		}
		for i := range round % 5 {
			others.Go(func() {
				q.Add(fmt.Sprint(i))
				q.AddWith(fmt.Sprint(i), addOptions{After: time.Duration(i) * 10 * time.Microsecond})
			})
		}
		others.Go(func() {
			switch round % 3 {
			case 0:
				q.ShutDown()
			case 1:
				if err := q.ShutDownWithDrain(context.Background()); err != nil {
					t.Error(err)
				}
			case 2:
				cancel()
			}
		})
		if round%2 == 0 {
			others.Go(q.ShutDown)
		}
		workers.Wait()
		others.Wait()
		cancel()
	}
}

// Producers, delays, retries, priorities, and workers whose Gets sometimes give up. No key is with
// two workers at once. After the last change of a key one more hand-out starts.
func TestNothingIsLostOrDoubled(t *testing.T) {
	t.Run("usual", func(t *testing.T) { nothingIsLostOrDoubled(t, false) })
	t.Run("eager", func(t *testing.T) { nothingIsLostOrDoubled(t, true) })
}

func nothingIsLostOrDoubled(t *testing.T, eager bool) {
	const keys, producers, workersN = 50, 4, 8
	changes := 3000
	if testing.Short() {
		changes = 500
	}
	var version, seen [keys]atomic.Int64
	var busy [keys]atomic.Bool
	var merged atomic.Int64

	q, err := workqueue.New(workqueue.Options[int, int64]{
		Merge:       func(old, new int64) int64 { return old + new },
		RateLimiter: workqueue.ExponentialLimiter[int](20*time.Microsecond, time.Millisecond),
		MaxWait:     time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if eager {
		q.Eager()
	}
	work := func(rnd *rand.Rand, item workqueue.Item[int, int64]) {
		k := item.Key
		if !busy[k].CompareAndSwap(false, true) {
			t.Errorf("key %d is with two workers", k)
		}
		v := version[k].Load()
		if rnd.IntN(4) == 0 {
			q.Retry(item) // failed: this run does not count, and Retry passes the value on
		} else {
			seen[k].Store(v)
			merged.Add(item.Value)
			q.Forget(k)
		}
		busy[k].Store(false)
	}

	var workers sync.WaitGroup
	for w := range workersN {
		workers.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(w)))
			var item workqueue.Item[int, int64]
			var ok bool
			for {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(500))*time.Microsecond)
				switch {
				case !ok:
					item, ok = q.Get(ctx)
				case w%2 == 0:
					item, ok = q.Next(ctx, item.Key)
				default:
					q.Done(item.Key)
					item, ok = q.Get(ctx)
				}
				gaveUp := !ok && ctx.Err() != nil
				cancel()
				switch {
				case ok:
					work(rnd, item)
				case !gaveUp || q.ShuttingDown() && q.Len() == 0:
					return
				}
			}
		})
	}
	var producing sync.WaitGroup
	for p := range producers {
		producing.Go(func() {
			rnd := rand.New(rand.NewPCG(2, uint64(p)))
			for range changes {
				k := rnd.IntN(keys)
				version[k].Add(1)
				o := workqueue.AddOptions[int64]{Priority: rnd.IntN(3), Value: 1}
				if rnd.IntN(3) == 0 {
					o.After = time.Duration(rnd.IntN(300)) * time.Microsecond
				}
				if rnd.IntN(2) == 0 {
					q.AddWith(k, o)
				} else {
					q.AddAll([]workqueue.Add[int, int64]{{Key: k, AddOptions: o}})
				}
			}
		})
	}
	producing.Wait()
	for s := q.Stats(); s.Delayed+s.Depth+s.InFlight > 0; s = q.Stats() {
		for k := range keys { // retries wait for the timer; an add cuts that short
			if seen[k].Load() != version[k].Load() {
				q.Add(k)
			}
		}
	}
	if err := q.ShutDownWithDrain(context.Background()); err != nil {
		t.Error(err)
	}
	workers.Wait()
	for k := range keys {
		if s, v := seen[k].Load(), version[k].Load(); s != v {
			t.Errorf("key %d: worked on up to version %d of %d", k, s, v)
		}
	}
	if got := merged.Load(); got != int64(producers*changes) {
		t.Errorf("values add up to %d, want %d", got, producers*changes)
	}
}
