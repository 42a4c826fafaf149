package store

import (
	"iter"
	"slices"
	"time"

	"github.com/flyball-io/flyball/internal/overdue"
	"github.com/flyball-io/flyball/run"
)

// catchUp asks an index about the entries it misses, until none is missing or stop returns true.
func (s *Store) catchUp(d *definition, late *pending, stop func() bool) {
	c := &catcher{s: s, d: d, late: late, stop: stop}
	c.run()
}

// catcher asks an index about the entries it misses. At first it runs beside the writer. The writer
// may be as fast as the function: calls are quick, and still something is missing after each pass.
// Then the writer waits for a part of the calls.
type catcher struct {
	s      *Store
	d      *definition
	late   *pending
	stop   func() bool
	watch  *overdue.Watch[*question]
	known  []learned // answers that the store has not taken over yet
	at     *learned  // set during a call
	passes int       // completed passes since the last call that took longer than brief
}

const (
	// mostPasses is the number of passes of a catcher before the writer waits.
	mostPasses = 8
	// mostKnown is the largest number of answers that wait to be taken over. mostFew is the limit
	// when the entries were loaded, or the function is called, while the writer waits.
	mostKnown = 4096
	mostFew   = 64
)

func (c *catcher) run() {
	c.watch = overdue.New(c.s.overdue)
	defer c.end()
	for whole := false; !whole && !c.stop(); {
		if c.passes < mostPasses && c.ask(c.s.Snapshot().missing(c.d), mostKnown, brief) {
			whole = c.fill()
		} else {
			whole = c.askFew()
		}
	}
}

// askFew asks about a few missing entries of the published state, or else of the open transaction.
// It reports whether none is missing.
func (c *catcher) askFew() (whole bool) {
	s := c.s
	s.mu.Lock()
	if s.core.whole(c.d) {
		s.mu.Unlock()
		return true
	}
	few := s.core.fewMissing(c.d)
	if c.passes < mostPasses {
		s.mu.Unlock()
		c.ask(few, mostFew, brief)
		return c.fill()
	}
	unlock := time.AfterFunc(brief, s.mu.Unlock) // for a call that sleeps
	c.ask(few, mostFew, brief/2)
	if !unlock.Stop() {
		return c.fill()
	}
	return c.fillAndUnlock()
}

// fewMissing loads entries that an index misses: more than mostFew if there are more.
func (c *Core) fewMissing(d *definition) iter.Seq[unasked] {
	var few []unasked
	for s := range c.states() {
		for u := range s.missing(d) {
			if few = append(few, u); len(few) > mostFew {
				break
			}
		}
		if len(few) > 0 {
			break
		}
	}
	return slices.Values(few)
}

// ask asks about at most most objects, for at most the given time. It reports whether there were
// any.
func (c *catcher) ask(of iter.Seq[unasked], most int, while time.Duration) (some bool) {
	until, end := time.Now().Add(while), true
	for u := range of {
		if c.stop() || some && (len(c.known) == most || !time.Now().Before(until)) {
			end = false
			break
		}
		some = true
		c.call(u)
	}
	if some && end {
		c.passes++
	}
	c.late.now.Store(nil)
	return some
}

// call asks about one entry.
func (c *catcher) call(u unasked) {
	q := &question{c.d.name, u.entry.Key(), time.Now()}
	c.late.now.Store(q)
	c.watch.Begin(q)
	c.at = &u.learned
	u.answer = c.d.ask(u.entry)
	c.at = nil
	c.watch.End()
	c.known = append(c.known, u.learned)
	switch took := time.Since(q.began); {
	case took < brief:
		c.d.quick()
		return
	case took >= overdue.After || c.d.probation.Load() > 0:
		c.d.probation.Store(probation)
	}
	c.passes = 0
}

// fill stores the answers. It reports whether nothing is missing any more.
func (c *catcher) fill() (whole bool) {
	c.s.mu.Lock()
	return c.fillAndUnlock()
}

func (c *catcher) fillAndUnlock() (whole bool) {
	aside := c.s.fillLocked(c.d, c.known)
	whole = c.s.core.whole(c.d)
	c.s.mu.Unlock()
	c.known = nil
	c.s.tellAside(aside)
	return whole
}

// end continues in another goroutine if the function has ended this one (runtime.Goexit).
func (c *catcher) end() {
	c.watch.Stop()
	b := &c.s.bounded
	if c.at == nil || b.closed.Load() {
		return
	}
	c.at.err = &IndexError{Index: c.d.name, Err: run.ErrGoexit}
	next := &catcher{s: c.s, d: c.d, late: c.late, stop: b.closed.Load, known: append(c.known, *c.at)}
	b.tasks.Go(func() {
		if !next.fill() {
			next.run()
		}
	})
}
