package core

import (
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Pending is a request whose answer needs responses of webhooks. Whoever serves the state makes the calls, adds
// the responses, and asks again: the same request, with the Pending in it. Nothing has changed until then. If
// objects have changed meanwhile, other calls may be necessary.
type Pending struct {
	// Calls are those that are to be made.
	Calls []rules.Call

	responses []rules.Response
	now       time.Time // of the request
	made      uint64    // what uids and generated names are computed from
}

// Add adds the responses to the calls.
func (p *Pending) Add(responses []rules.Response) {
	p.Calls = nil
	p.responses = append(p.responses, responses...)
}

// resume adds what is known of the request to a question.
func (p *Pending) resume(call *rules.Request) {
	if p != nil {
		call.Responses, call.Now = p.responses, p.now.UnixNano()
	}
}

// wait returns the answer to a request that needs calls.
func (p *Pending) wait(now time.Time, made uint64, calls []rules.Call) Answer {
	if p == nil {
		p = &Pending{now: now, made: made}
	}
	p.Calls = calls
	return Answer{Pending: p}
}
