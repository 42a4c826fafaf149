package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/ctxkey"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/workqueue"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func newStrings(t testing.TB, o workqueue.Options[string, string]) *workqueue.Queue[string, string] {
	t.Helper()
	q, err := workqueue.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// parkGet starts a Get in a goroutine, in a synctest bubble. The channel receives its key, or "-"
// if it reports false.
func parkGet(ctx context.Context, q *workqueue.Queue[string, string]) <-chan string {
	answer := make(chan string, 1)
	go func() {
		item, ok := q.Get(ctx)
		if !ok {
			item.Key = "-"
		}
		answer <- item.Key
	}()
	synctest.Wait()
	return answer
}

// at fails unless ch has an answer exactly d after start, and none before.
func at(t *testing.T, start time.Time, d time.Duration, ch <-chan string, want string) {
	t.Helper()
	if got := <-ch; got != want || time.Since(start) != d {
		t.Errorf("got %q after %v, want %q after %v", got, time.Since(start), want, d)
	}
}

func TestGetWaitsForAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{})
		start := time.Now()
		first, second := parkGet(t.Context(), q), parkGet(t.Context(), q)
		time.Sleep(time.Second)
		q.Add("a")
		q.Add("a")
		synctest.Wait()
		if len(first)+len(second) != 1 || q.Len() != 0 {
			t.Fatalf("%d Gets answered, Len %d", len(first)+len(second), q.Len())
		}
		q.Add("b")
		got := map[string]bool{<-first: true, <-second: true}
		if !got["a"] || !got["b"] || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", got, time.Since(start))
		}
	})
}

func TestGetWaitsForDelays(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  func(t *testing.T, q *workqueue.Queue[string, string], start time.Time)
	}{
		{"delayed before Get", func(t *testing.T, q *workqueue.Queue[string, string], start time.Time) {
			q.AddWith("a", addOptions{After: time.Second})
			at(t, start, time.Second, parkGet(t.Context(), q), "a")
		}},
		{"delayed while parked", func(t *testing.T, q *workqueue.Queue[string, string], start time.Time) {
			get := parkGet(t.Context(), q)
			q.AddWith("a", addOptions{After: time.Second})
			at(t, start, time.Second, get, "a")
		}},
		{"a shorter delay while parked", func(t *testing.T, q *workqueue.Queue[string, string], start time.Time) {
			q.AddWith("a", addOptions{After: time.Hour})
			get := parkGet(t.Context(), q)
			q.AddWith("b", addOptions{After: time.Minute})
			q.AddWith("a", addOptions{After: time.Second})
			at(t, start, time.Second, get, "a")
			at(t, start, time.Minute, parkGet(t.Context(), q), "b")
		}},
		{"an immediate add cuts the delay", func(t *testing.T, q *workqueue.Queue[string, string], start time.Time) {
			q.AddWith("a", addOptions{After: time.Hour})
			q.AddWith("b", addOptions{After: time.Minute})
			get := parkGet(t.Context(), q)
			q.Add("a")
			at(t, start, 0, get, "a")
			at(t, start, time.Minute, parkGet(t.Context(), q), "b")
		}},
		{"several due at once, several parked", func(t *testing.T, q *workqueue.Queue[string, string], start time.Time) {
			var gets []<-chan string
			for range 3 {
				gets = append(gets, parkGet(t.Context(), q))
			}
			for _, key := range []string{"a", "b", "c"} {
				q.AddWith(key, addOptions{After: time.Second})
			}
			for _, get := range gets {
				<-get
			}
			if time.Since(start) != time.Second {
				t.Errorf("after %v", time.Since(start))
			}
		}},
		{"one by one, one parked all along", func(t *testing.T, q *workqueue.Queue[string, string], start time.Time) {
			q.AddWith("a", addOptions{After: 1 * time.Second})
			q.AddWith("b", addOptions{After: 2 * time.Second})
			q.AddWith("c", addOptions{After: 3 * time.Second})
			ctx, cancel := context.WithCancel(t.Context())
			gets := []<-chan string{parkGet(ctx, q), parkGet(ctx, q), parkGet(ctx, q), parkGet(ctx, q)}
			time.Sleep(2500 * time.Millisecond)
			synctest.Wait()
			answered := 0
			for _, get := range gets {
				answered += len(get)
			}
			if answered != 2 {
				t.Errorf("%d answered after 2.5 s, want 2", answered)
			}
			time.Sleep(500 * time.Millisecond)
			cancel()
			got := map[string]int{}
			for _, get := range gets {
				got[<-get]++
			}
			if got["a"] != 1 || got["b"] != 1 || got["c"] != 1 || got["-"] != 1 {
				t.Errorf("got %v", got)
			}
		}},
		{"the one that would have been woken gives up", func(t *testing.T, q *workqueue.Queue[string, string], start time.Time) {
			q.AddWith("a", addOptions{After: time.Second})
			ctx, cancel := context.WithCancel(t.Context())
			leaving, staying := parkGet(ctx, q), parkGet(t.Context(), q)
			time.Sleep(time.Second / 2)
			cancel()
			at(t, start, time.Second/2, leaving, "-")
			at(t, start, time.Second, staying, "a")
		}},
		{"due while no Get is parked", func(t *testing.T, q *workqueue.Queue[string, string], start time.Time) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			get := parkGet(ctx, q)
			q.AddWith("a", addOptions{After: 2 * time.Second})
			q.AddWith("b", addOptions{After: 4 * time.Second})
			at(t, start, time.Second, get, "-")
			time.Sleep(2 * time.Second)
			if q.Len() != 1 {
				t.Errorf("Len = %d", q.Len())
			}
			at(t, start, 3*time.Second, parkGet(t.Context(), q), "a")
			at(t, start, 4*time.Second, parkGet(t.Context(), q), "b")
		}},
		{"ready again by Done", func(t *testing.T, q *workqueue.Queue[string, string], start time.Time) {
			q.Add("a")
			at(t, start, 0, parkGet(t.Context(), q), "a")
			q.Add("a")
			get := parkGet(t.Context(), q)
			time.Sleep(time.Second)
			q.Done("a")
			at(t, start, time.Second, get, "a")
		}},
		{"Done while others are delayed", func(t *testing.T, q *workqueue.Queue[string, string], start time.Time) {
			q.Add("a")
			at(t, start, 0, parkGet(t.Context(), q), "a")
			q.AddWith("b", addOptions{After: 2 * time.Second})
			get := parkGet(t.Context(), q)
			time.Sleep(time.Second)
			q.Done("a")
			at(t, start, 2*time.Second, get, "b")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.run(t, newStrings(t, workqueue.Options[string, string]{}), time.Now())
			})
		})
	}
}

func TestGetEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{})
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		at(t, start, time.Second, parkGet(ctx, q), "-")
		q.Add("a")
		if item, ok := q.Get(ctx); ok {
			t.Errorf("Get under an ended context handed out %v", item)
		}
		at(t, start, time.Second, parkGet(t.Context(), q), "a")
	})
}

// An item that reaches a Get while its context ends is not lost, and leaves no trace for the next
// Get.
func TestItemServedToAnEndedGetIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{})
		for range 500 {
			ctx, cancel := context.WithCancel(t.Context())
			get := parkGet(ctx, q)
			cancel()
			q.Add("a") // before or after Get notices the end of ctx
			got := <-get
			if got == "-" {
				got = <-parkGet(t.Context(), q)
			}
			if got != "a" {
				t.Fatalf("got %q", got)
			}
			q.Done("a")
			next := parkGet(t.Context(), q)
			if len(next) != 0 {
				t.Fatalf("the next Get got %q", <-next)
			}
			q.Add("b")
			<-next
			q.Done("b")
		}
	})
}

func TestRetryKeepsPriorityAndValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{
			RateLimiter: workqueue.ExponentialLimiter[string](time.Second, time.Minute),
		})
		start := time.Now()
		q.AddWith("a", addOptions{Priority: 7, Value: "cause"})
		for i, want := range []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second} {
			item, ok := q.Get(t.Context())
			if !ok || item.Priority != 7 || item.Value != "cause" || time.Since(start) != want {
				t.Errorf("handed out %+v after %v, want it after %v", item, time.Since(start), want)
			}
			q.Retry(item)
			q.Done(item.Key)
			if n := q.NumRequeues("a"); n != i+1 {
				t.Errorf("NumRequeues = %d, want %d", n, i+1)
			}
		}
		q.Forget("a")
		if n := q.NumRequeues("a"); n != 0 {
			t.Errorf("NumRequeues after Forget = %d", n)
		}
	})
}

func TestShutDownReleasesParkedGets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{})
		if q.ShuttingDown() {
			t.Error("shutting down from the start")
		}
		var parked []<-chan string
		for range 5 {
			parked = append(parked, parkGet(t.Context(), q))
		}
		q.AddWith("delayed", addOptions{After: time.Hour})
		q.ShutDown()
		for _, get := range parked {
			if got := <-get; got != "-" {
				t.Errorf("a parked Get got %q", got)
			}
		}
		q.ShutDown()
		q.Add("late")
		q.AddWith("late", addOptions{After: 1})
		time.Sleep(2 * time.Hour)
		if _, ok := q.Get(t.Context()); ok || q.Len() != 0 || !q.ShuttingDown() {
			t.Errorf("Get %v, Len %d, ShuttingDown %v", ok, q.Len(), q.ShuttingDown())
		}
		if err := q.ShutDownWithDrain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestShutDownHandsOutReadyItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{})
		q.Add("a")
		q.Add("b")
		q.AddWith("c", addOptions{After: time.Second})
		time.Sleep(time.Second)
		q.ShutDown()
		for _, want := range []string{"a", "b", "c", "-"} {
			if got := <-parkGet(t.Context(), q); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}

func TestShutDownWithDrainWaitsForReadyAndInFlight(t *testing.T) {
	drain := func(ctx context.Context, q *workqueue.Queue[string, string]) <-chan error {
		done := make(chan error, 1)
		go func() { done <- q.ShutDownWithDrain(ctx) }()
		synctest.Wait()
		return done
	}
	t.Run("nothing to wait for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newStrings(t, workqueue.Options[string, string]{})
			q.AddWith("delayed", addOptions{After: time.Second})
			get := parkGet(t.Context(), q)
			if err := <-drain(t.Context(), q); err != nil || <-get != "-" {
				t.Error(err)
			}
		})
	})
	t.Run("items in flight, and those that they re-queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newStrings(t, workqueue.Options[string, string]{})
			q.Add("a")
			q.Add("b")
			<-parkGet(t.Context(), q)
			<-parkGet(t.Context(), q)
			q.Add("b")
			first, second := drain(t.Context(), q), drain(t.Context(), q)
			q.ShutDown()
			still := func(what string) {
				t.Helper()
				synctest.Wait()
				if len(first)+len(second) != 0 {
					t.Fatal("drained with " + what)
				}
			}
			still("a and b in flight")
			q.Add("c")
			q.Done("a")
			still("b in flight")
			q.Done("b")
			still("b ready again")
			if got := <-parkGet(t.Context(), q); got != "b" {
				t.Errorf("got %q", got)
			}
			still("b in flight again")
			q.Done("b")
			if err := errors.Join(<-first, <-second); err != nil {
				t.Error(err)
			}
			if got := <-parkGet(t.Context(), q); got != "-" {
				t.Errorf("got %q", got)
			}
		})
	})
	t.Run("its context ends first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newStrings(t, workqueue.Options[string, string]{})
			q.Add("a")
			<-parkGet(t.Context(), q)
			grace := errors.New("grace is over")
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, grace)
			defer cancel()
			if err := <-drain(ctx, q); err != grace {
				t.Errorf("got %v", err)
			}
			if !q.ShuttingDown() {
				t.Error("not shutting down")
			}
			q.Done("a")
			for range 20 {
				if err := q.ShutDownWithDrain(ctx); err != nil {
					t.Errorf("drained, yet %v", err)
				}
			}
		})
	})
}

// A burst of adds is one hand-out with the last state.
func TestBurstIsOneHandOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{})
		for _, v := range []string{"1", "2", "3"} {
			q.AddWith("a", addOptions{Value: v})
			time.Sleep(time.Millisecond)
		}
		item, _ := q.Get(t.Context())
		if item.Value != "3" || item.Waited != 3*time.Millisecond || q.Len() != 0 {
			t.Errorf("handed out %+v, Len %d", item, q.Len())
		}
		if s := q.Stats(); s.Adds != 1 || s.InFlight != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// Next ends the work on one key and hands out another item. That is the same key if it was added
// since, another key, or one that becomes due while Next waits.
func TestNextEndsOneKeyAndHandsOutAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{})
		start := time.Now()
		next := func(done, want string, after time.Duration) {
			t.Helper()
			item, ok := q.Next(t.Context(), done)
			if item.Key != want || ok != (want != "") || time.Since(start) != after {
				t.Errorf("after %s: %q, %v after %v, want %q after %v", done, item.Key, ok, time.Since(start), want, after)
			}
		}
		q.Add("a")
		next("nothing", "a", 0)
		q.Add("a")
		next("a", "a", 0)
		q.Add("b")
		q.AddWith("a", addOptions{Priority: 1})
		next("a", "a", 0)
		next("a", "b", 0)
		q.AddWith("b", addOptions{After: time.Second})
		next("b", "b", time.Second)
		if s := q.Stats(); s.InFlight != 1 {
			t.Errorf("%d in flight", s.InFlight)
		}

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		q.Add("c")
		if item, ok := q.Next(ctx, "b"); ok {
			t.Errorf("handed out %q when its context had ended", item.Key)
		}
		if s := q.Stats(); s.InFlight != 0 || s.Depth != 1 {
			t.Errorf("in flight %d, ready %d, want 0 and 1", s.InFlight, s.Depth)
		}
	})
}

// Items that a worker leaves in Next go to parked calls.
func TestNextServesParkedGets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{})
		q.Add("a")
		item, _ := q.Get(t.Context())
		get := parkGet(t.Context(), q)
		q.AddWith("due", addOptions{Priority: 1, After: time.Second})
		q.Add(item.Key)
		time.Sleep(time.Second - 1)
		if len(get) != 0 {
			t.Fatal("answered")
		}
		item, ok := q.Next(t.Context(), item.Key)
		if !ok || item.Key != "a" {
			t.Errorf("got %q, %v", item.Key, ok)
		}
		if got := <-get; got != "due" {
			t.Errorf("parked: %q", got)
		}
	})
}

// A drain ends with the Next that finds nothing.
func TestNextEndsADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{})
		q.Add("a")
		item, _ := q.Get(t.Context())
		q.Add("a")
		drained := make(chan error, 1)
		go func() { drained <- q.ShutDownWithDrain(t.Context()) }()
		synctest.Wait()
		item, ok := q.Next(t.Context(), item.Key)
		synctest.Wait()
		if !ok || len(drained) != 0 {
			t.Fatalf("%v, and the drain has ended: %v", ok, len(drained) != 0)
		}
		if item, ok = q.Next(t.Context(), item.Key); ok {
			t.Errorf("handed out %q", item.Key)
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

// A simulation has the item that became ready last handed out first.
func TestLastFirst(t *testing.T) {
	q := newStrings(t, workqueue.Options[string, string]{})
	ctx := ctxkey.WithTurns(t.Context(), func(context.Context, string) bool { return true })
	var got, want []string
	for i := range 5 {
		q.Add(fmt.Sprint(i))
		want = append(want, fmt.Sprint(4-i))
	}
	for range 5 {
		item, _ := q.Get(ctx)
		got = append(got, item.Key)
		q.Done(item.Key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
