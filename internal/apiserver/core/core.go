// Package core is the state of an API server in memory, and the function that answers a request. It has no goroutine,
// no clock and no randomness: the same requests at the same times give the same answers.
//
//	Step(now, request) ──▶ rules: the real strategies ──▶ Answer and writes
//	                                                         │
//	          tree of objects (copy on write) ◀──────────────┤
//	          log of changes, by version       ◀─────────────┘ ──▶ Watch.Poll: events of a watch
//
// [State] is the only writer. A [View] is one version of it and never changes; reads and watches use views.
// A [Snapshot] costs a few words of memory, and [State.Restore] returns to it.
package core

import (
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Rules answers one request as the real API server would. It is a function of its argument. The texts of the answer do
// not change afterwards.
type Rules func(*rules.Request) (*rules.Answer, error)

// Options configures a State. Rules is required.
type Options struct {
	Rules Rules
	// Seed decides on uids, generated names and keys. States of one seed with the same requests choose the same ones.
	Seed string
	// Controllers says that controllers run beside the server. Admission then expects what they create.
	Controllers bool
	// History is how long changes are kept for watches and old versions, at most maxLog of them. Zero means five minutes.
	History time.Duration
	// RBAC lets users do only what roles allow. Without it, every authenticated user may do everything.
	RBAC bool
	// Gates are the feature gates of the server.
	Gates Gates
	// Nobody is the user of a request without credentials. The zero value means that such requests are refused.
	Nobody User
}

// Request is one request of a client.
type Request struct {
	Method      string
	URL         string // path and query
	ContentType string
	Accept      string
	UserAgent   string
	User        string
	Groups      []string
	UserUID     string
	Extra       map[string][]string // further fields of the user
	Body        []byte
	// Pending is Answer.Pending of the last answer to this request; nil the first time.
	Pending *Pending
}

// Answer is the answer to a request.
type Answer struct {
	Code        int
	ContentType string
	RetryAfter  string
	Warnings    []string
	Header      map[string]string // headers beside those of every answer
	Body        []byte            // others may have it, too: it must not be changed
	// Watch is the position of a watch; nil if the request is no watch. An answer with a watch has no body.
	Watch *Watch
	// Pending has the webhooks to be called first; nil if there are none. Such an answer has nothing else: call them,
	// and ask again. See [Pending].
	Pending *Pending
}

// Object is one state of an object. It never changes.
type Object struct {
	Key     string
	Version uint64
	// JSON is the object as it is stored.
	JSON []byte
	// shown is the object as clients see it; nil if that equals JSON. It differs by defaults that are set on reading.
	shown  []byte
	labels set
	fields set
}

// Change is one write. Old is nil for an object that was created.
type Change struct {
	Version uint64
	At      time.Time
	Old     *Object
	Object  *Object // the new state; of a deleted object the last one, with the version of its deletion
	Deleted bool
}

// State is the objects of a server, and the log of their changes. It is for one goroutine.
type State struct {
	opts Options
	View
	// made counts the objects that were created, by collection. Uids and generated names depend on it.
	made map[string]uint64
}

// New returns an empty state. [State.Begin] makes the objects that every cluster has.
func New(o Options) *State {
	if o.History <= 0 {
		o.History = 5 * time.Minute
	}
	return &State{opts: o, View: newView(o), made: map[string]uint64{}}
}

// text returns the object as clients see it, in the version of its storage.
func (o *Object) text() []byte {
	if o.shown != nil {
		return o.shown
	}
	return o.JSON
}
