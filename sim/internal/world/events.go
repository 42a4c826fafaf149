package world

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/sim/internal/judge"
	"github.com/flyball-io/flyball/sim/internal/plan"
)

const (
	// lateness is how long an event is held back that comes late.
	lateness = 2 * time.Second
	// silence is how long silent watches are. The controllers of Kubernetes give up their expectations after five minutes.
	silence = 6 * time.Minute
	// bookmarks is the time between two bookmarks of a watch.
	bookmarks = time.Minute
)

// poll moves what has happened into the pending events of the streams, and returns them in the order of their versions.
func (w *world) poll() (all []*event) {
	now := w.state.Now()
	for _, p := range w.procs {
		if p.now == nil {
			continue
		}
		p.now.streams = slices.DeleteFunc(p.now.streams, (*stream).closed)
		for _, s := range p.now.streams {
			view := p.stale.of(s.resource, now)
			if s.watch.Over(view) || !time.Now().Before(s.endAt) {
				s.end(io.EOF)
				continue
			}
			for _, e := range s.watch.Poll(view) {
				s.pending = append(s.pending, &event{Event: e, on: s, view: view})
			}
			all = append(all, s.pending...)
		}
	}
	slices.SortStableFunc(all, func(a, b *event) int {
		return cmp.Or(cmp.Compare(a.version(), b.version()), cmp.Compare(a.on.from.process.program.Name, b.on.from.process.program.Name), cmp.Compare(a.on.url, b.on.url))
	})
	return all
}

// deliverNext delivers the next event that is not held back. It reports false if there is none.
func (w *world) deliverNext() bool {
	all := w.poll()
	now := time.Now()
	free := all[:0:0]
	for _, e := range all {
		s := e.on
		if s.waits() {
			continue
		}
		if s.first != nil {
			later := slices.ContainsFunc(s.pending, func(x *event) bool { return x != s.first && x.key() == s.first.key() })
			if !later && now.Before(s.firstUntil) {
				continue
			}
			first := s.first
			s.first = nil
			if later {
				w.deliverUntilNext(first)
				return true
			}
		}
		if s.merged == e {
			later := slices.ContainsFunc(s.pending, func(x *event) bool { return x != e && x.key() == e.key() })
			if !later && now.Before(s.mergedUntil) {
				continue // others may pass: a list would show them
			}
			s.merged = nil
			if later {
				w.merge(e)
				return true
			}
		}
		free = append(free, e)
	}
	if len(free) == 0 {
		return false
	}
	e := free[0]
	if f := w.reach(e); f != nil {
		e = w.disturb(f, e, free)
	}
	if e != nil {
		w.deliver(e)
	}
	return true
}

// reach counts an event as a point, once. It returns the fault at it.
func (w *world) reach(e *event) *plan.Fault {
	if e.Object == nil || e.counted || heartbeat(e.on.resource) {
		return nil
	}
	e.counted = true
	at := plan.Point{Program: e.on.from.process.program.Name, Step: w.step, Verb: e.Type, Object: judge.Name(e.key())}
	w.count(&at)
	return w.fault(at)
}

// disturb lets a fault happen to an event. It returns the event to deliver now; nil if there is none.
func (w *world) disturb(f *plan.Fault, e *event, free []*event) *event {
	s, p := e.on, e.on.from.process
	w.log(laneFault, "%s %s of %s for %s", f.Kind, e.Type, judge.Name(e.key()), p)
	switch f.Kind {
	case plan.Merge:
		s.merged, s.mergedUntil = e, time.Now().Add(lateness)
	case plan.Late:
		s.lateUntil = time.Now().Add(lateness)
	case plan.Silent:
		w.silent = time.Now().Add(silence)
		w.over = latest(w.over, w.silent)
		s.from.silence(path(s.url), w.silent)
	case plan.Lag:
		s.lag = f.Until
	case plan.Cut:
		s.end(io.EOF)
	case plan.CutOff:
		w.refused[p.program.Name+" "+path(s.url)] = plan.RequestLost
		s.end(io.ErrUnexpectedEOF)
	case plan.Revoked:
		w.refused[p.program.Name+" "+path(s.url)] = plan.Forbidden
		s.end(io.EOF)
	case plan.AtOnce:
		s.first, s.firstUntil = e, time.Now().Add(lateness)
	case plan.Expire:
		w.send(s, s.watch.Expired(), e.view)
		s.end(io.EOF)
	case plan.Stale, plan.StaleKind:
		behind, _ := w.state.Now().Changes(e.version() - 1)
		p.behind = &staleView{view: w.state.Now().Before(len(behind))}
		if f.Kind == plan.StaleKind {
			p.behind.kind = s.resource
		}
		p.again = f.Until
		return e
	case plan.Swap:
		for _, x := range free {
			if x.on != s && x.key() != e.key() && x.Object != nil {
				return x
			}
		}
		return e
	default:
		return e
	}
	return nil
}

// merge leaves an event out: the next one of its object tells both.
func (w *world) merge(e *event) {
	s := e.on
	s.pending = slices.DeleteFunc(s.pending, func(x *event) bool { return x == e })
	i := slices.IndexFunc(s.pending, func(x *event) bool { return x.key() == e.key() })
	next := s.pending[i]
	w.log(laneView, "%s of %s is left out: %s follows", e.Type, judge.Name(e.key()), next.Type)
	switch {
	case e.Type == core.Added && next.Type == core.Modified:
		next.Type = core.Added
	case e.Type == core.Added && next.Type == core.Deleted:
		s.pending = slices.Delete(s.pending, i, i+1) // it came and went unseen
	case e.Type == core.Deleted && next.Type == core.Added:
		next.Type = core.Modified
	}
}

// deliverUntilNext delivers an event, the next one of its object, and all between them, in one piece.
func (w *world) deliverUntilNext(first *event) {
	s := first.on
	s.muted = true
	for e := (*event)(nil); e == nil || e == first || e.key() != first.key(); {
		e = s.pending[0]
		w.reach(e) // it is a point, but nothing else happens to it
		w.deliver(e)
	}
	s.muted = false
	s.signal()
}

// deliver delivers an event.
func (w *world) deliver(e *event) {
	s := e.on
	s.pending = slices.DeleteFunc(s.pending, func(x *event) bool { return x == e })
	if e.Object != nil {
		s.from.saw(e.Object)
	}
	w.send(s, e.Event, e.view)
	if e.Type == core.Failure {
		s.end(io.EOF)
	}
	w.logEvent(e)
}

// send sends the frame of an event.
func (w *world) send(s *stream, e core.Event, v core.View) {
	var pending *core.Pending
	for {
		a, err := s.watch.Encode(v, time.Now(), e, pending)
		if err != nil {
			s.end(err)
			return
		}
		if a.Pending == nil {
			if s.resource == leases {
				a.Body = w.drawn.back(a.Body)
			}
			s.send(e.Type, a.Body)
			return
		}
		pending = a.Pending
		w.callHooks(pending)
	}
}

// held returns when the next thing is due of all that the world itself does; zero if nothing is.
func (w *world) held() (at time.Time) {
	earliest := func(t time.Time) {
		if t.After(time.Now()) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, p := range w.procs {
		if p.now != nil {
			for _, s := range p.now.streams {
				earliest(s.endAt)
				earliest(s.lateUntil)
				earliest(s.mergedUntil)
				earliest(s.firstUntil)
			}
		}
	}
	for _, t := range w.timers {
		earliest(t.at)
	}
	earliest(w.stepAt)
	return at
}

// marks reports whether a watch wants bookmarks.
func (w *world) marks() bool {
	for _, p := range w.procs {
		if p.now != nil && slices.ContainsFunc(p.now.streams, func(s *stream) bool { return s.watch.Bookmarks && !s.waits() }) {
			return true
		}
	}
	return false
}

// bookmark sends bookmarks if they are due. It reports whether it did.
func (w *world) bookmark() bool {
	if w.marked.IsZero() {
		w.marked = time.Now()
	}
	if time.Since(w.marked) < bookmarks {
		return false
	}
	w.marked = time.Now()
	now, sent := w.state.Now(), false
	for _, p := range w.procs {
		if p.now == nil {
			continue
		}
		for _, s := range p.now.streams {
			if view := p.stale.of(s.resource, now); s.watch.Bookmarks && !s.waits() && len(s.pending) == 0 && !s.closed() {
				w.send(s, core.Event{Type: core.Bookmark, Version: view.Version()}, view)
				sent = true
			}
		}
	}
	return sent
}

// lasting reports whether a fault lasts beyond the step.
func (w *world) lasting() bool {
	for _, p := range w.procs {
		if p.again > w.step || p.now != nil && slices.ContainsFunc(p.now.streams, func(s *stream) bool { return s.lag > w.step }) {
			return true
		}
	}
	return false
}

// holds reports whether a fault holds something back.
func (w *world) holds() bool {
	for _, p := range w.procs {
		if p.stale != nil || p.now != nil && slices.ContainsFunc(p.now.streams, func(s *stream) bool { return s.lag > 0 }) {
			return true
		}
	}
	return false
}

// letGo ends all that is held back.
func (w *world) letGo() {
	if w.over.Equal(w.silent) {
		w.over = time.Time{}
	}
	w.wrote, w.silent, w.burst = time.Now(), time.Time{}, true
	for _, p := range w.procs {
		p.stale = nil
		if p.now != nil {
			clear(p.now.silent)
			for _, s := range p.now.streams {
				s.lag, s.lateUntil = 0, time.Time{}
			}
		}
	}
}

// release ends the faults that last until the end of this step, and lets all come to rest again.
func (w *world) release() error {
	for _, p := range w.procs {
		moved := false
		if p.now != nil {
			for _, s := range p.now.streams {
				if s.lag > 0 && s.lag <= w.step {
					s.lag, moved = 0, true
				}
			}
		}
		if p.again > 0 && p.again <= w.step {
			p.again, p.stale, p.behind = 0, p.behind, nil
			w.base = w.state.Now()
			w.log(laneFault, "%s is started again as one that has seen nothing since", p)
			p.restart()
			w.wrote = time.Now()
			if err := w.settleHeld(); err != nil {
				return err
			}
			p.stale, moved, w.burst = nil, true, true
			w.log(laneFault, "%s sees all again", p)
		}
		if moved {
			w.wrote = time.Now()
			if err := w.settle(); err != nil {
				return err
			}
		}
	}
	return nil
}
