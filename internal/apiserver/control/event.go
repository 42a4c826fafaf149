package control

import (
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// Event is what a controller tells people about an object.
type Event struct {
	User User
	// Key is the key of the object. Nothing is told of one that is not there.
	Key             string
	Warning         bool
	Reason, Message string
	// Action is what was done or tried, for those who use the newer API of Events.
	Action string
}

// Recorder is the controller that writes Events. Without it there are none.
type Recorder interface {
	Controller
	// Tell is given what a controller tells, when the requests that were made with it have succeeded.
	Tell(now time.Time, s *State, e Event)
	// Answered is told of each request of the other controllers, and finds out itself what is to be told of it.
	Answered(now time.Time, s *State, r Request, a core.Answer)
}

// notice is an Event that waits for the requests of its key.
type notice struct {
	from  failedKey
	event Event
}

// split returns the requests of a controller. Events are kept apart: they wait if their key has requests.
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

// publish gives the recorder the Events of the last round whose requests have succeeded.
func (s *Set) publish(now time.Time) {
	for _, n := range s.notices {
		if !s.failed[n.from] {
			s.recorder.Tell(now, s.state, n.event)
		}
	}
	s.notices = nil
}
