package review

import (
	"cmp"
	"time"

	"github.com/flyball-io/flyball/run"
)

// Limits bounds the requests and handlers of an endpoint. The zero value is the default. The limits
// are read when the endpoint is made.
type Limits struct {
	// Body is the largest request body in bytes. Zero or negative means the default: 10 MiB for
	// admission and 64 MiB for conversion. An API server takes objects of at most 3 MiB, and an
	// admission review holds up to two. A conversion review holds a whole list. What can never fit into the [Budget]
	// is refused, too: with its answer, a conversion may be 8/17 of that.
	Body int64
	// Timeout is the longest time for an answer once the request has arrived. A body has as long to
	// arrive, or the ReadTimeout of the server if it has one. The API server states its own timeout, and
	// the shorter one applies. A tenth of it, at most 500 ms, is left for the way back. Zero means 30 s,
	// the longest timeout of an API server. Negative means only the API server's timeout applies.
	Timeout time.Duration
	// Concurrency is the largest number of handlers that run at once. Abandoned handlers, which run
	// past their time, count until they end. Further requests are refused with 429 and a
	// Retry-After. Zero or negative means 256.
	Concurrency int
}

// Hooks are callbacks for metrics; nil ones are skipped. They run on the goroutines of the requests
// and must not block.
type Hooks struct {
	// Started is called when a request arrives, and Done when its answer has been sent.
	Started func(webhook string)
	Done    func(Call)
	// Lost is called with the number of abandoned handlers that still run, whenever that number
	// changes.
	Lost func(webhook string, running int)
}

// Call describes one answered request.
type Call struct {
	// Webhook is the name of the endpoint.
	Webhook string
	// Code is the HTTP status code. Every verdict has 200, also a denial.
	Code int
	// Denied reports a negative verdict: an object was rejected, or could not be converted.
	Denied bool
	// Duration is the time from the arrival of the header to the answer.
	Duration time.Duration
	// Panic is the handler's panic, or nil.
	Panic *run.PanicError
}

func (l Limits) withDefaults(body int64) Limits {
	l.Body = cmp.Or(max(l.Body, 0), body)
	l.Timeout = cmp.Or(l.Timeout, 30*time.Second)
	l.Concurrency = cmp.Or(max(l.Concurrency, 0), 256)
	return l
}

// bound returns the longest time for a handler, given the caller's timeout. A caller's timeout of
// zero is unknown. A result of zero means no bound.
func (l Limits) bound(caller time.Duration) time.Duration {
	if caller > 0 {
		caller -= min(caller/10, 500*time.Millisecond)
	}
	switch {
	case l.Timeout < 0:
		return caller
	case caller <= 0:
		return l.Timeout
	}
	return min(caller, l.Timeout)
}
