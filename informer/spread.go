package informer

import (
	"math"
	"time"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// mostSteps is into how many steps a spread resync divides its period, at most.
const mostSteps = 128

// spread is a resync that shows some objects at a time, so that the last of them comes when the period
// is over. It goes through the keys in their order; what comes and goes meanwhile does not matter.
type spread struct {
	period time.Duration
	began  time.Time // of this round; zero: none has begun
	shown  int       // in this round
	after  object.Key
}

// due is how many of n objects are to be shown now, and whether the round ends with them.
func (s *spread) due(now time.Time, n int) (count int, ends bool) {
	if s.began.IsZero() {
		s.began = now
	}
	elapsed := now.Sub(s.began)
	if elapsed >= s.period {
		return math.MaxInt, true
	}
	return max(0, int(float64(n)*float64(elapsed)/float64(s.period))-s.shown), false
}

// end begins the next round.
func (s *spread) end(now time.Time) {
	s.began, s.shown, s.after = s.began.Add(s.period), 0, object.Key{}
	if now.Sub(s.began) >= s.period {
		s.began = now // the program did not run for a while
	}
}

// next is when something is due again.
func (s *spread) next(now time.Time, n int) time.Time {
	end := s.began.Add(s.period)
	if n == 0 {
		return end
	}
	step := max(s.period/mostSteps, time.Millisecond)
	at := s.began.Add(time.Duration(math.Ceil(float64(s.period) * float64(s.shown+1) / float64(n))))
	if soon := now.Add(step); at.Before(soon) {
		at = soon
	}
	if at.After(end) {
		return end
	}
	return at
}

// showSome shows a source what is due, and returns when more is.
func (a *applier) showSome(r *Registration, period time.Duration, now time.Time) time.Time {
	s := &r.spread
	if s.period != period {
		*s = spread{period: period}
	}
	snapshot := a.in.store.Snapshot()
	n := snapshot.Len()
	count, ends := s.due(now, n)
	if count > 0 {
		all, _ := snapshot.Select(store.Query{After: s.after})
		for e := range all {
			r.offer(store.Change{Key: e.Key(), Old: e, New: e, Resync: true})
			s.after = e.Key()
			s.shown++
			if count--; count == 0 {
				break
			}
		}
	}
	if ends {
		s.end(now)
	}
	return s.next(now, n)
}

// ResyncEvery has a source shown every object again once in each period, spread over it, from when the
// informer has synced. Such a change has Resync set; it comes between the others in their order, on
// the same goroutine. Nothing is decoded. Zero or negative: never, as at first. For a handler see
// HandlerOptions.
func (r *Registration) ResyncEvery(period time.Duration) {
	r.every.Store(int64(max(period, 0)))
	r.inf.fifo.Wake()
}
