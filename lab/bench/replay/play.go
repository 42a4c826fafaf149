package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/flyball-io/flyball/lab/bench/corpus"
)

// Lists is the way in which a server answers a request for everything.
type Lists string

// These are the ways of listing, by their names on the command line.
const (
	// Streaming is a watch with initial events, for clients that request it.
	Streaming Lists = "streaming"
	// Whole is one answer, as of a real server with a watch cache.
	Whole Lists = "whole"
	// Paged is one page after another, for clients that request pages.
	Paged Lists = "paged"
)

// Server serves the tapes of one corpus, one tape for each form. It implements http.Handler. Its
// methods are safe for concurrent use. All kinds share one sequence of versions, as in a cluster.
//
// It has two kinds of events: changes on the tape, by Play, and repeated messages of the tape. The
// latter have another version and, if an object was deleted and made again, another uid and name.
type Server struct {
	tapes []*Tape
	any   *Tape
	paths map[string]int // of a list → its kind
	mode  Lists

	mu       sync.Mutex
	changed  chan struct{}   // closed when any of the fields below changes
	happened []chan struct{} // for each kind: closed when the log has an event of it, or cut changes
	woken    []bool          // the kinds whose channel is to be closed at the end of change

	live    []item      // the existing objects
	where   map[int]int // object → its index in live
	log     []logEntry  // all events by version; append only
	next    int         // of the changes on the tape
	oldest  int         // the first event that is not forgotten
	cut     int         // how often all watches were ended
	timed   *timing     // times of the events that are played at a rate
	listed  int
	watches int
	proto   int // the major version of HTTP of the last request
}

// logEntry is one event.
type logEntry struct {
	event string
	item
}

// NewServer returns a server of tapes that differ in their form only.
func NewServer(lists Lists, tapes ...*Tape) *Server {
	s := &Server{tapes: tapes, any: tapes[0], paths: map[string]int{}, mode: lists, where: map[int]int{}, changed: make(chan struct{})}
	for place, i := range s.any.sorted() {
		s.live, s.where[i] = append(s.live, initial(i)), place
	}
	for number, k := range s.any.kinds {
		path := "/apis/" + k.GVR.Group + "/" + k.GVR.Version + "/" + k.GVR.Resource
		if k.GVR.Group == "" {
			path = "/api/" + k.GVR.Version + "/" + k.GVR.Resource
		}
		s.paths[path] = number
		s.happened = append(s.happened, make(chan struct{}))
	}
	s.woken = make([]bool, len(s.happened))
	return s
}

// change changes fields, and wakes those who wait for that. A watch is woken for its kind only.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
	for number, yes := range s.woken {
		if yes {
			close(s.happened[number])
			s.happened[number], s.woken[number] = make(chan struct{}), false
		}
	}
}

// liveLocked returns the existing objects of a kind.
func (s *Server) liveLocked(v offer) []item {
	all := make([]item, 0, len(s.live))
	for _, it := range s.live {
		if v.has(it) {
			all = append(all, it)
		}
	}
	return all
}

// Play plays the next n changes of the tape at once. Like the other methods it returns when the
// last event has happened, which may be before a client has seen it.
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

// Ready reads the next n changes of a tape into memory before they are played. The first read of a
// page of a large file may take longer than a contender's handling of the event.
func (s *Server) Ready(t *Tape, n int) {
	s.mu.Lock()
	from := s.next
	s.mu.Unlock()
	if t.changes != nil {
		t.changes.touch(from, from+n)
	}
}

// Touch makes n events at once. Each changes only the resourceVersion of one of the given number of
// objects, in turn.
func (s *Server) Touch(n, keys int) error {
	if err := s.check(n, 0); err != nil {
		return err
	}
	s.change(func() {
		for k := range n {
			s.touchLocked(corpus.Scatter(k, min(keys, s.any.Len())))
		}
	})
	return nil
}

// TouchKinds makes an event of one object of each kind that has objects, as Touch does.
func (s *Server) TouchKinds() error {
	if err := s.check(len(s.happened), 0); err != nil {
		return err
	}
	s.change(func() {
		touched := make([]bool, len(s.happened))
		for _, it := range slices.Clone(s.live) {
			if kind := s.any.of[it.object]; !touched[kind] {
				touched[kind] = true
				s.touchLocked(it.object)
			}
		}
	})
	return nil
}

// Churn deletes every object of the first list and makes another one in its place. It does so for
// the given number of rounds.
func (s *Server) Churn(rounds int) error {
	all := s.any.Len()
	if err := s.check(2*rounds*all, 0); err != nil {
		return err
	}
	s.change(func() {
		for k := range rounds * all {
			if gone, ok := s.deleteLocked(corpus.Scatter(k, all)); ok {
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
			s.deleteLocked(corpus.Scatter(k, s.any.Len()))
		}
	})
	return nil
}

// Forget ends all watches after the last n objects have changed unseen. Clients that come back get
// a 410.
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
		for number := range s.woken {
			s.woken[number] = true
		}
	})
	return nil
}

// check reports impossible requests: versions must have as many digits as on the tape.
func (s *Server) check(events, ofTape int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := len(s.any.steps) - s.next; ofTape > left {
		return fmt.Errorf("%d changes are left on the tape, not %d", left, ofTape)
	}
	if last := s.any.first + len(s.log) + events; last >= 10*corpus.FirstVersion {
		return fmt.Errorf("%d events are more than there are versions for", events)
	}
	return nil
}

// Happened returns the number of events so far.
func (s *Server) Happened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.log)
}

// Watches returns the number of watches so far.
func (s *Server) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches
}

// AwaitWatches returns when n watches have begun, or ctx ends.
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

// Protocol returns the major version of HTTP of the last request.
func (s *Server) Protocol() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proto
}

// Lists returns the number of requests for lists and pages.
func (s *Server) Lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// playLocked plays the next change of the tape. It creates a missing object.
func (s *Server) playLocked() {
	step := s.any.steps[s.next]
	it := item{object: step.Object, message: s.any.Len() + s.next}
	s.next++
	place, there := s.where[it.object]
	if there {
		it.life = s.live[place].life
	}
	switch {
	case there && step.Deleted:
		s.live[place] = it
		s.deleteLocked(it.object)
	case there:
		s.addLocked("MODIFIED", it)
	default:
		s.addLocked("ADDED", it)
	}
}

func (s *Server) touchLocked(object int) {
	if place, there := s.where[object]; there {
		s.addLocked("MODIFIED", s.live[place])
	}
}

// addLocked stores an object's new state, in the next version.
func (s *Server) addLocked(event string, it item) {
	it.version = s.any.first + 1 + len(s.log)
	if place, there := s.where[it.object]; there {
		s.live[place] = it
	} else {
		s.where[it.object] = len(s.live)
		s.live = append(s.live, it)
	}
	s.logLocked(event, it)
}

// deleteLocked deletes an object, if it exists, and returns its last state.
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
	s.logLocked("DELETED", gone)
	return gone, true
}

func (s *Server) logLocked(event string, it item) {
	s.log = append(s.log, logEntry{event, it})
	s.woken[s.any.of[it.object]] = true
}

// Final returns the last event of each object since event from, in order, and the last one of each
// kind, or -1. It leaves out objects that were created and deleted since from: a client may have
// merged their events into none. Without deletes it leaves out all deleted objects.
func (s *Server) Final(from int, deletes bool) (events, last []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	final, made := map[int]int{}, map[int]bool{}
	for k := from; k < len(s.log); k++ {
		h := s.log[k]
		made[h.object] = made[h.object] || h.event == "ADDED"
		final[h.object] = k
		if h.event == "DELETED" && (made[h.object] || !deletes) {
			delete(final, h.object)
			delete(made, h.object)
		}
	}
	events = slices.Sorted(maps.Values(final))
	last = slices.Repeat([]int{-1}, len(s.happened))
	for _, k := range events {
		last[s.any.of[s.log[k].object]] = k
	}
	return events, last
}

// Next returns the next event of the same object, and false if there is none.
func (s *Server) Next(k int) (next int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for next = k + 1; next < len(s.log); next++ {
		if s.log[next].object == s.log[k].object {
			return next, true
		}
	}
	return 0, false
}
