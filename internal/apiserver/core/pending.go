package core

import (
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Pending is a request whose answer needs responses of webhooks. The server makes the calls, adds the responses, and
// makes the same request again with the Pending in it. Until then the request has changed nothing. If objects have
// changed meanwhile, the next answer may need other calls. It is for one goroutine.
type Pending struct {
	// Calls has the calls to be made. Their order does not matter.
	Calls []rules.Call

	responses []rules.Response
	now       time.Time // of the request
	made      uint64    // the count from which uid and generated name are computed
}

// Add adds responses to calls, in any order.
func (p *Pending) Add(responses []rules.Response) {
	p.Calls = nil
	p.responses = append(p.responses, responses...)
}

// resume gives a question the time, the count and the responses of the request.
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
