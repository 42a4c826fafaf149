package replay

import (
	"context"
	"fmt"
	"sync"

	"github.com/flyball-io/flyball/bench/corpus"
)

// Lists is how a server answers those who want everything.
type Lists string

// The ways of listing, as they are named on the command line.
const (
	// Streaming is a watch that begins with everything, for those who ask for it.
	Streaming Lists = "streaming"
	// Whole is one answer, as real servers give it that have a watch cache.
	Whole Lists = "whole"
	// Paged is one page after another, for those who ask for pages.
	Paged Lists = "paged"
)

// Server serves the tapes of one corpus and plan, one tape for each form. It implements
// http.Handler. Its methods may be called from any goroutine.
//
// What happens is of two sorts: the changes that are on the tape, by Play, and those for which
// messages of the tape are shown once more, with another version and, where an object was deleted
// and made again, another uid and name.
type Server struct {
	tapes map[Form]*Tape
	any   *Tape
	path  string
	mode  Lists

	mu      sync.Mutex
	changed chan struct{} // closed when any of what follows changes
	live    []item        // what is there
	where   map[int]int   // object → its place in live
	log     []happening   // what has happened, by version; append only
	next    int           // of the changes on the tape
	oldest  int           // what happened before this one is forgotten
	cut     int           // how often all watches were ended
	timed   *timing       // of those that happen now at a rate
	listed  int
	watches int
	proto   int // the major version of HTTP of the last request
}

// happening is one event.
type happening struct {
	event string
	item
}

// NewServer makes a server of tapes that differ in their form only.
func NewServer(lists Lists, tapes ...*Tape) *Server {
	s := &Server{tapes: map[Form]*Tape{}, mode: lists, where: map[int]int{}, changed: make(chan struct{})}
	for _, t := range tapes {
		s.tapes[t.form], s.any = t, t
	}
	for place, i := range s.any.sorted() {
		s.live, s.where[i] = append(s.live, initial(i)), place
	}
	gvr := s.any.resource.GVR
	s.path = "/apis/" + gvr.Group + "/" + gvr.Version + "/" + gvr.Resource
	if gvr.Group == "" {
		s.path = "/api/" + gvr.Version + "/" + gvr.Resource
	}
	return s
}

func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Play lets the next n changes of the tape happen at once. Like the other methods it returns when
// the last has happened, which is not yet when somebody has seen it.
func (s *Server) Play(n int) error {
	if err := s.check(n, n); err != nil {
		return err
	}
	s.change(func() {
		for range n {
			s.playLocked()
		}
	})
	return nil
}

// Ready reads the next n changes of a tape, so that they are in memory when they are played: whoever
// reads a page of a large file for the first time may wait longer than a contender needs for the event.
func (s *Server) Ready(t *Tape, n int) {
	s.mu.Lock()
	from := s.next
	s.mu.Unlock()
	if t.changes != nil {
		t.changes.touch(from, from+n)
	}
}

// Touch has n events happen at once, each of which changes nothing but the resourceVersion of one
// of the given number of objects, in turn.
func (s *Server) Touch(n, keys int) error {
	if err := s.check(n, 0); err != nil {
		return err
	}
	s.change(func() {
		for k := range n {
			s.touchLocked(scatter(k, min(keys, s.any.Len())))
		}
	})
	return nil
}

// Churn deletes every object of the first list, each right before another one is made in its
// place, as many times as there are rounds.
func (s *Server) Churn(rounds int) error {
	all := s.any.Len()
	if err := s.check(2*rounds*all, 0); err != nil {
		return err
	}
	s.change(func() {
		for k := range rounds * all {
			if gone, ok := s.deleteLocked(scatter(k, all)); ok {
				gone.life++
				s.addLocked("ADDED", gone)
			}
		}
	})
	return nil
}

// Delete deletes n objects, from all over the corpus.
func (s *Server) Delete(n int) error {
	if err := s.check(n, 0); err != nil {
		return err
	}
	s.change(func() {
		for k := range n {
			s.deleteLocked(scatter(k, s.any.Len()))
		}
	})
	return nil
}

// Forget ends all watches, after the last n objects have changed without anybody having seen it:
// those who come back begin with a 410.
func (s *Server) Forget(n int) error {
	if err := s.check(n, 0); err != nil {
		return err
	}
	s.change(func() {
		for i := range n {
			s.touchLocked(s.any.Len() - n + i)
		}
		s.cut++
		s.oldest = len(s.log)
	})
	return nil
}

// check reports what cannot happen: versions have as many digits as on the tape.
func (s *Server) check(events, ofTape int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.any.plan.Events - s.next; ofTape > left {
		return fmt.Errorf("%d changes are left on the tape, not %d", left, ofTape)
	}
	if last := s.any.first + len(s.log) + events; last >= 10*corpus.FirstVersion {
		return fmt.Errorf("%d events are more than there are versions for", events)
	}
	return nil
}

// Happened is how many events there have been.
func (s *Server) Happened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.log)
}

// Watches is how many watches have begun, and AwaitWatches returns when there have been so many.
func (s *Server) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches
}

// AwaitWatches returns when so many watches have begun, or ctx ends.
func (s *Server) AwaitWatches(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		have, changed := s.watches, s.changed
		s.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Protocol is the major version of HTTP that the last request had.
func (s *Server) Protocol() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proto
}

// Lists is how many lists, and pages of lists, were asked for.
func (s *Server) Lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// playLocked has the next change of the tape happen. An object that is not there is made.
func (s *Server) playLocked() {
	object, _ := s.any.plan.step(s.any.Len(), s.next)
	it := item{object: object, message: s.any.Len() + s.next}
	s.next++
	if place, there := s.where[object]; there {
		it.life = s.live[place].life
		s.addLocked("MODIFIED", it)
	} else {
		s.addLocked("ADDED", it)
	}
}

func (s *Server) touchLocked(object int) {
	if place, there := s.where[object]; there {
		s.addLocked("MODIFIED", s.live[place])
	}
}

// addLocked has an object be as in the item from now on, in the next version.
func (s *Server) addLocked(event string, it item) {
	it.version = s.any.first + 1 + len(s.log)
	if place, there := s.where[it.object]; there {
		s.live[place] = it
	} else {
		s.where[it.object] = len(s.live)
		s.live = append(s.live, it)
	}
	s.log = append(s.log, happening{event, it})
}

// deleteLocked deletes an object, if it is there, and says how it was.
func (s *Server) deleteLocked(object int) (gone item, ok bool) {
	gap, there := s.where[object]
	if !there {
		return gone, false
	}
	last := len(s.live) - 1
	gone = s.live[gap]
	s.live[gap] = s.live[last]
	s.where[s.live[gap].object] = gap
	s.live = s.live[:last]
	delete(s.where, object)
	gone.version = s.any.first + 1 + len(s.log)
	s.log = append(s.log, happening{"DELETED", gone})
	return gone, true
}
