package review

import (
	"time"

	"github.com/flyball-io/flyball/run"
)

// Limits bound what a webhook takes from the network and from the code it calls. The zero value is
// the default. They are read when the endpoint is made.
type Limits struct {
	// Body is the most bytes that one request may have. Zero or negative: 10 MiB for admission (an
	// API server takes objects of 3 MiB at most, and a review holds up to two of them), 64 MiB for
	// conversion, where a whole list comes in one review.
	Body int64
	// Buffered is the size of a [Budget] that the endpoint has for itself: the most bytes that all its
	// requests may hold together. Zero: it has the budget of its Options, which endpoints of a manager
	// share, or one of the default size. Negative: there is no bound.
	Buffered int64
	// Timeout is how long an answer may take once the request is there. The API server says how
	// long it waits; the smaller one holds, less a tenth (at most 500 ms) for the way back. Zero:
	// 30 s, the longest that an API server waits. Negative: none but that of the API server.
	Timeout time.Duration
	// Concurrency is how many handlers may run at once, those included that were left behind since
	// they went on past their time. The next request is refused with 429 and a Retry-After. Zero
	// or negative: 256.
	Concurrency int
}

// Hooks let others count what happens; nil ones are skipped. They are called on the goroutines of
// the requests and must not block.
type Hooks struct {
	// Started is called when a request arrives, and Done when its answer has been given.
	Started func(webhook string)
	Done    func(Call)
	// Lost is called with the number of handlers that still run although their time is over,
	// whenever that changes.
	Lost func(webhook string, running int)
}

// Call is one request that has been answered.
type Call struct {
	// Webhook is the name of the endpoint.
	Webhook string
	// Code is the status code of HTTP. It is 200 for every verdict, also a denial.
	Code int
	// Denied says that the verdict was no: an object was not admitted, or could not be converted.
	Denied bool
	// Duration is from the arrival of the header to the answer.
	Duration time.Duration
	// Panic is what the handler panicked with, or nil.
	Panic *run.PanicError
}

const retryAfter = "1" // seconds

func (l Limits) withDefaults(body int64) Limits {
	if l.Body <= 0 {
		l.Body = body
	}
	if l.Timeout == 0 {
		l.Timeout = 30 * time.Second
	}
	if l.Concurrency <= 0 {
		l.Concurrency = 256
	}
	return l
}

// bound is how long a handler may take, given what the caller says it waits (zero: it does not
// say). Zero is no bound.
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
