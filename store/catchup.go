package store

import (
	"iter"
	"slices"
	"time"

	"github.com/flyball-io/flyball/internal/overdue"
	"github.com/flyball-io/flyball/run"
)

// catchUp asks an index about what it misses, until that is nothing, or it is to stop.
func (s *Store) catchUp(d *definition, late *pending, stop func() bool) {
	c := &catcher{s: s, d: d, late: late, stop: stop}
	c.run()
}

// catcher asks an index about what it misses. It does so beside the writer at first. If calls are quick
// and nevertheless something is missing each time that it comes to the end, then the writer is as fast
// as the function, and waits for a part of the calls.
type catcher struct {
	s      *Store
	d      *definition
	late   *pending
	stop   func() bool
	watch  *overdue.Watch[*question]
	known  []learned // what the index said, and the store has not taken over yet
	at     *learned  // set during a call
	passes int       // how often it came to the end, since a call took longer than brief
}

const (
	// mostPasses is how often a catcher comes to the end before the writer waits.
	mostPasses = 8
	// mostKnown is how many answers wait, at most, to be taken over, and mostFew how many if the entries
	// were loaded, or the function is asked, while the writer waits.
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

// askFew asks about some of what is missing in the state published last, or else in the open transaction. It
// reports whether that is nothing.
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
	unlock := time.AfterFunc(brief, s.mu.Unlock) // if a call sleeps
	c.ask(few, mostFew, brief/2)
	if !unlock.Stop() {
		return c.fill()
	}
	return c.fillAndUnlock()
}

// fewMissing are some entries about which an index is to be asked, loaded: more than mostFew if there are
// more.
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

// ask asks about so many objects, for a while, and reports whether there were any.
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

// fill has the store take over what the index said. It reports whether nothing is missing any more.
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

// end has another goroutine go on where the function has ended this one.
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
