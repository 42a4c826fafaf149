package informer

import (
	"math"
	"time"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// maxSteps is the most steps of a spread resync in one period.
const maxSteps = 128

// spread is a resync that spreads the objects over its period. It goes through the keys in order, and keeps
// the last one. So objects may come and go between its steps.
type spread struct {
	period time.Duration
	began  time.Time  // start of this round; zero: none has begun
	shown  int        // objects shown in this round
	after  object.Key // the last one
}

// due returns how many of n objects are due, and whether the round ends with them.
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
		s.began = now // the program was suspended
	}
}

// next returns when the next object is due.
func (s *spread) next(now time.Time, n int) time.Time {
	end := s.began.Add(s.period)
	if n == 0 {
		return end
	}
	step := max(s.period/maxSteps, time.Millisecond)
	at := s.began.Add(time.Duration(math.Ceil(float64(s.period) * float64(s.shown+1) / float64(n))))
	if soon := now.Add(step); at.Before(soon) {
		at = soon
	}
	if at.After(end) {
		return end
	}
	return at
}

// resyncSome resyncs the due objects of a source, and returns when the next one is due.
func (a *applier) resyncSome(r *Registration, period time.Duration, now time.Time) time.Time {
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

// resyncAll resyncs all objects.
func (a *applier) resyncAll(r *Registration) {
	for e := range a.in.store.Snapshot().All() {
		r.offer(store.Change{Key: e.Key(), Old: e, New: e, Resync: true})
	}
}

// ResyncEvery resyncs a source: it gets every object once in each period, spread over the period. The first
// period begins when the informer has synced. Such a change has Resync set. It comes in order with the other
// changes, on the same goroutine. No object is decoded. Zero or negative: no resync, which is the default. For a
// handler see [Handler].
func (r *Registration) ResyncEvery(period time.Duration) {
	r.every.Store(int64(max(period, 0)))
	r.inf.wake()
}

// Resync resyncs a source once and soon: it gets every object as in ResyncEvery, not spread. Before the source has
// synced it does nothing: the source gets every object anyway. Calls that come before the resync begins are one.
func (r *Registration) Resync() {
	if r.HasSynced() {
		r.once.Store(true)
		r.inf.wake()
	}
}
