package store

import (
	"iter"
	"slices"
	"time"

	"github.com/flyball-io/flyball/internal/overdue"
	"github.com/flyball-io/flyball/run"
)

// catchUp asks an index about the entries it misses, until none is missing or stop returns true.
func (s *Store) catchUp(d *definition, pending *pendingIndex, stop func() bool) {
	c := &catcher{s: s, d: d, pending: pending, stop: stop}
	c.run()
}

// catcher asks an index about the entries it misses. At first it runs beside the writer. The writer
// may be as fast as the function: calls are quick, and still something is missing after each pass.
// Then the writer waits for a part of the calls.
type catcher struct {
	s       *Store
	d       *definition
	pending *pendingIndex
	stop    func() bool
	watch   *overdue.Watch[*indexCall]
	answers []slotAnswer // answers that the store has not taken over yet
	current *slotAnswer  // set during a call
	passes  int          // completed passes since the last call that took longer than brief
}

const (
	// maxPasses is the number of passes of a catcher before the writer waits.
	maxPasses = 8
	// maxAnswers is the largest number of answers that wait to be taken over. smallBatch is the limit
	// when the entries were loaded, or the function is called, while the writer waits.
	maxAnswers = 4096
	smallBatch = 64
)

func (c *catcher) run() {
	c.watch = overdue.New(overdue.After, c.s.reportOverdue)
	defer c.end()
	for caughtUp := false; !caughtUp && !c.stop(); {
		if c.passes < maxPasses && c.ask(c.s.Snapshot().missing(c.d), maxAnswers, brief) {
			caughtUp = c.fill()
		} else {
			caughtUp = c.askSome()
		}
	}
}

// askSome asks about a few missing entries of the published state, or else of the open transaction.
// It reports whether none is missing.
func (c *catcher) askSome() (caughtUp bool) {
	s := c.s
	s.mu.Lock()
	if s.core.caughtUp(c.d) {
		s.mu.Unlock()
		return true
	}
	batch := s.core.missingBatch(c.d)
	if c.passes < maxPasses {
		s.mu.Unlock()
		c.ask(batch, smallBatch, brief)
		return c.fill()
	}
	unlock := time.AfterFunc(brief, s.mu.Unlock) // for a call that sleeps
	c.ask(batch, smallBatch, brief/2)
	if !unlock.Stop() {
		return c.fill()
	}
	return c.fillAndUnlock()
}

// missingBatch loads entries that an index misses: more than smallBatch if there are more.
func (c *core) missingBatch(d *definition) iter.Seq[missingEntry] {
	var batch []missingEntry
	for s := range c.states() {
		for u := range s.missing(d) {
			if batch = append(batch, u); len(batch) > smallBatch {
				break
			}
		}
		if len(batch) > 0 {
			break
		}
	}
	return slices.Values(batch)
}

// ask asks about at most most objects, for at most the given time. It reports whether there were
// any.
func (c *catcher) ask(of iter.Seq[missingEntry], most int, while time.Duration) (some bool) {
	until, end := time.Now().Add(while), true
	for u := range of {
		if c.stop() || some && (len(c.answers) == most || !time.Now().Before(until)) {
			end = false
			break
		}
		some = true
		c.call(u)
	}
	if some && end {
		c.passes++
	}
	c.pending.current.Store(nil)
	return some
}

// call asks about one entry.
func (c *catcher) call(u missingEntry) {
	q := &indexCall{c.d.name, u.entry.Key(), time.Now()}
	c.pending.current.Store(q)
	c.watch.Begin(q)
	c.current = &u.slotAnswer
	u.answer = c.d.ask(u.entry)
	c.current = nil
	c.watch.End()
	c.answers = append(c.answers, u.slotAnswer)
	switch took := time.Since(q.began); {
	case took < brief:
		c.d.countQuick()
		return
	case took >= overdue.After || c.d.probation.Load() > 0:
		c.d.probation.Store(probation)
	}
	c.passes = 0
}

// fill stores the answers. It reports whether nothing is missing any more.
func (c *catcher) fill() (caughtUp bool) {
	c.s.mu.Lock()
	return c.fillAndUnlock()
}

func (c *catcher) fillAndUnlock() (caughtUp bool) {
	any := c.s.fillLocked(c.d, c.answers)
	caughtUp = c.s.core.caughtUp(c.d)
	c.s.mu.Unlock()
	c.answers = nil
	c.s.reportRejected(any)
	return caughtUp
}

// end continues in another goroutine if the function has ended this one (runtime.Goexit).
func (c *catcher) end() {
	c.watch.Stop()
	b := &c.s.bounded
	if c.current == nil || b.closed.Load() {
		return
	}
	c.current.err = &IndexError{Index: c.d.name, Err: run.ErrGoexit}
	next := &catcher{s: c.s, d: c.d, pending: c.pending, stop: b.closed.Load, answers: append(c.answers, *c.current)}
	b.tasks.Go(func() {
		if !next.fill() {
			next.run()
		}
	})
}
