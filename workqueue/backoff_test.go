package workqueue_test

import (
	"testing"
	"time"

	"github.com/flyball-io/flyball/workqueue"
)

func TestBackoffGrowsPerKeyAndResets(t *testing.T) {
	retry := addOptions{RateLimited: true}

	t.Run("grows with each failure and is forgotten on success", func(t *testing.T) {
		s := newScript(t)
		s.add("a")
		for i, delay := range []time.Duration{10 * ms, 20 * ms, 40 * ms} {
			s.expect("a")
			s.add("a", retry)
			s.done("a")
			if n := s.core.NumRequeues("a"); n != i+1 {
				t.Errorf("NumRequeues = %d, want %d", n, i+1)
			}
			s.pass(delay - 1)
			s.expect()
			s.pass(1)
		}
		s.expect("a")
		s.core.Forget("a")
		if n := s.core.NumRequeues("a"); n != 0 {
			t.Errorf("NumRequeues after Forget = %d", n)
		}
		s.add("a", retry)
		s.done("a")
		s.pass(10 * ms)
		s.expect("a")
	})
	t.Run("each add counts, the earliest time wins", func(t *testing.T) {
		s := newScript(t)
		s.add("a", retry)
		s.add("a", retry)
		s.add("a", retry)
		if n := s.core.NumRequeues("a"); n != 3 {
			t.Errorf("NumRequeues = %d, want 3", n)
		}
		s.pass(10 * ms)
		s.expect("a")
	})
	t.Run("Forget leaves the queue alone", func(t *testing.T) {
		s := newScript(t)
		s.add("a")
		s.add("b", retry)
		s.core.Forget("a")
		s.core.Forget("b")
		s.pass(10 * ms)
		s.expect("a", "b")
	})
	t.Run("After, if longer", func(t *testing.T) {
		s := newScript(t)
		s.add("a", addOptions{RateLimited: true, After: 30 * ms})
		s.add("b", addOptions{RateLimited: true, After: 3 * ms})
		s.pass(9 * ms)
		s.expect()
		s.pass(1 * ms)
		s.expect("b")
		s.pass(20 * ms)
		s.expect("a")
	})
	t.Run("the event that fixes the cause cuts a long backoff", func(t *testing.T) {
		s := newScript(t)
		s.add("a")
		for range 20 {
			s.pass(time.Second)
			s.expect("a")
			s.add("a", retry)
			s.done("a")
		}
		s.expect()
		s.add("a")
		s.expect("a")
		s.core.Forget("a")
		s.done("a")
		s.pass(time.Hour)
		s.expect()
	})
	t.Run("woken early, it waits for the rest and counts no failure", func(t *testing.T) {
		s := newScript(t)
		s.add("a")
		s.expect("a")
		s.add("a", retry) // backs off until 10 ms
		s.done("a")
		for range 3 {
			s.pass(3 * ms)
			s.add("a")
			s.expect("a")
			s.add("a", retry)
			s.done("a")
			if n := s.core.NumRequeues("a"); n != 1 {
				t.Errorf("NumRequeues = %d, want 1", n)
			}
		}
		s.expect()
		s.pass(ms) // at 10 ms, its own deadline
		s.expect("a")
		s.add("a", retry)
		s.done("a")
		if n := s.core.NumRequeues("a"); n != 2 {
			t.Errorf("NumRequeues = %d, want 2", n)
		}
		s.pass(20 * ms)
		s.expect("a")
	})
	t.Run("an event during the failing work does not hide its backoff", func(t *testing.T) {
		s := newScript(t)
		s.add("a")
		s.expect("a")
		s.add("a")
		s.add("a", retry) // backs off until 10 ms, but the event comes first
		s.done("a")
		s.expect("a")
		s.add("a", retry)
		s.done("a")
		if n := s.core.NumRequeues("a"); n != 1 {
			t.Errorf("NumRequeues = %d, want 1", n)
		}
		s.expect()
		s.pass(10 * ms)
		s.expect("a")
	})
	t.Run("success between two failures starts anew", func(t *testing.T) {
		s := newScript(t)
		s.add("a")
		s.expect("a")
		s.add("a", retry)
		s.done("a")
		s.add("a")
		s.expect("a")
		s.core.Forget("a") // after a success
		s.add("a")
		s.done("a")
		s.expect("a")
		s.add("a", retry) // counts as a first failure and does not wait for the rest of the old backoff
		s.done("a")
		if n := s.core.NumRequeues("a"); n != 1 {
			t.Errorf("NumRequeues = %d, want 1", n)
		}
	})
}

// A key fails for a minute while an event comes every 100 ms. It is tried at every event, and its
// backoff grows as without them.
func TestEventsDoNotGrowABackoff(t *testing.T) {
	failures := func(event time.Duration) int {
		s := newScript(t, func(o *workqueue.Options[string, string]) {
			o.RateLimiter = workqueue.ExponentialLimiter[string](5*ms, 1000*time.Second)
		})
		s.add("a")
		for at := time.Duration(0); at < time.Minute; at += ms {
			if event > 0 && at%event == 0 {
				s.add("a")
			}
			if s.get() != "" {
				s.add("a", addOptions{RateLimited: true})
				s.done("a")
			}
			s.pass(ms)
		}
		return s.core.NumRequeues("a")
	}
	alone, beset := failures(0), failures(100*ms)
	if alone != beset {
		t.Errorf("%d failures counted with events, %d without", beset, alone)
	}
}
