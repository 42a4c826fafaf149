package control

import (
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// Event is an Event about an object, for people to read.
type Event struct {
	User User
	// Key is the key of the object. If there is no such object, no Event is written.
	Key             string
	Warning         bool
	Reason, Message string
	// Action is the field action of the newer API of Events: what was done or tried.
	Action string
}

// Recorder is the controller that writes the Events of all controllers. Without one in the set, none are written.
type Recorder interface {
	Controller
	// Tell gets an Event of a controller, after the requests that the controller made together with it have succeeded.
	Tell(now time.Time, s *State, e Event)
	// Answered gets each request of the other controllers and its answer. The recorder derives Events from some.
	Answered(now time.Time, s *State, r Request, a core.Answer)
}

// notice is an Event that waits for the requests of its key to succeed.
type notice struct {
	from  failedKey
	event Event
}

// split returns the requests of a controller without its Events. An Event whose key has requests becomes a notice;
// others go to the recorder at once.
func (s *Set) split(now time.Time, controller int, made []Request) (requests []Request) {
	busy := map[string]bool{}
	for _, r := range made {
		r.controller = controller
		switch {
		case r.Event == nil:
			busy[r.Key] = true
			requests = append(requests, r)
		case s.recorder == nil:
		case busy[r.Key]:
			s.notices = append(s.notices, notice{failedKey{controller, r.Key}, *r.Event})
		default:
			s.recorder.Tell(now, s.state, *r.Event)
		}
	}
	return requests
}

// publish passes the notices of the last round to the recorder, but for those whose requests have failed.
func (s *Set) publish(now time.Time) {
	for _, n := range s.notices {
		if !s.failed[n.from] {
			s.recorder.Tell(now, s.state, n.event)
		}
	}
	s.notices = nil
}
