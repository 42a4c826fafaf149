// Package control runs the controllers of an API server in memory as steps. A controller has no goroutine, no clock
// and no randomness: it gets the changes since its last step, reads a view, and returns requests.
//
//	core.View, changes ──▶ Set.Step ──▶ State: objects by owner and uid, decoded once
//	                          │              │
//	                          ▼              ▼
//	                       Controller.Step, one after the other ──▶ requests, and when to step again
//	                          ▲                                          │
//	                     Set.Answer ◀── core.State.Step ◀────────────────┘
//
// The owner of the state makes the requests and steps the set again, until there are no requests and nothing is due.
// The same requests of clients at the same times lead to the same writes.
//
// [Keyed] is a controller that looks at one object after the other, as most do. Events are told to the [Recorder],
// which writes them in the next round.
package control

import (
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// Controller is one controller. It is for one goroutine.
type Controller interface {
	// Name returns its name in kube-controller-manager, such as "deployment-controller".
	Name() string
	// Step gets the changes since the last step; for the first step all objects are new. It returns the requests to
	// make, in order, and when to step if nothing changes; the zero time means never.
	Step(now time.Time, s *State, changes []Change) (requests []Request, due time.Time)
	// Answer gets the answer to a request of the last step.
	Answer(now time.Time, r Request, a core.Answer)
}

// Request is a request of a controller, or an Event.
type Request struct {
	core.Request
	// Key is the key of the object that the controller was reconciling; "" if there is none.
	Key string
	// Event is what is told when the requests of the key before it have succeeded. If it is not nil, there is no
	// request.
	Event *Event

	controller int // the index of the controller in the set
}

// Set has the controllers of a server. It is for one goroutine.
type Set struct {
	options     Options
	known       []Known
	controllers []Controller
	state       *State
	seen        uint64             // the version of the last step
	failed      map[failedKey]bool // in this round
	recorder    Recorder           // one of the controllers; nil if there is none
	notices     []notice           // of this round
	told        map[string]bool    // the lines about troubles that were reported
}

// failedKey is a key of one controller.
type failedKey struct {
	controller int
	key        string
}

// NewSet returns a set of controllers. The first step makes them.
func NewSet(known []Known, o Options) *Set { return &Set{known: known, options: o} }

// Boot returns the requests to make once, before the first step of a new server.
func (s *Set) Boot(v core.View) (out []core.Request) {
	for _, k := range s.known {
		if k.Boot != nil {
			out = append(out, k.Boot(v)...)
		}
	}
	return out
}

// Reset makes the controllers forget everything. The next step begins anew.
func (s *Set) Reset() {
	s.controllers, s.state, s.seen, s.recorder, s.notices = nil, nil, 0, nil, nil
}

// Step steps all controllers, each with the same view. The caller makes the requests in order, but for those that are
// [Set.Void], passes each answer to [Set.Answer], and steps again. due is when to step if nothing changes; the zero
// time means never.
func (s *Set) Step(now time.Time, v core.View) (requests []Request, due time.Time) {
	s.publish(now)
	s.failed = map[failedKey]bool{}
	log, known := v.Changes(s.seen)
	if !known || s.state == nil {
		s.Reset()
		s.state, log = newState(), nil
		for _, k := range s.known {
			c := k.New(s.options)
			if r, ok := c.(Recorder); ok {
				s.recorder = r
			}
			s.controllers = append(s.controllers, c)
		}
		for o := range v.All("/") {
			log = append(log, core.Change{Version: o.Version, Object: o})
		}
	}
	s.seen = v.Version()
	changes := s.state.advance(v, log)
	for i, c := range s.controllers {
		made, at, ok := s.guarded(now, c, changes)
		if !ok { // nobody knows what it has seen
			s.seen, s.state = 0, nil
			return requests, now.Add(afterPanic)
		}
		requests = append(requests, s.split(now, i, made)...)
		if !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	return requests, due
}

// Void reports whether a request must not be made, because an earlier one with its key has failed since the last step.
func (s *Set) Void(r Request) bool { return r.Key != "" && s.failed[failedKey{r.controller, r.Key}] }

// Answer passes the answer to a request to its controller.
func (s *Set) Answer(now time.Time, r Request, a core.Answer) {
	if Failed(r.Request, a) {
		s.failed[failedKey{r.controller, r.Key}] = true
	}
	c := s.controllers[r.controller]
	c.Answer(now, r, a)
	if s.recorder != nil && c != Controller(s.recorder) {
		s.recorder.Answered(now, s.state, r, a)
	}
}

// Failed reports whether a request has failed. A delete that is answered with NotFound has not: the object is gone.
func Failed(r core.Request, a core.Answer) bool {
	return a.Code >= 300 && !(r.Method == "DELETE" && a.Code == 404) || a.Code == 0
}
