package reflector

import (
	"log/slog"
	"time"
)

// Options say how a Reflector works. The zero value works. New reads them.
type Options struct {
	// Resource names the kind in errors, such as "deployments.apps". Empty: errors do not name it.
	Resource string
	// Namespace is the watched namespace. An object of another namespace is unusable. Empty: all.
	Namespace string
	// Within are the namespaces of a kind that has none when New is called. If its definition is made anew with
	// namespaces, the objects of all others are left out. Nil: none are.
	Within []string
	// PageSize is the number of objects in a page of a list. Zero: 500. Negative: all objects in one
	// page. A server that lists from memory may send more.
	PageSize int64
	// Paged turns streaming lists off: every list is paged.
	Paged bool
	// InitialEvents is how long a streaming list may go on without a further object. The whole list
	// may take ten times as long. After that a paged list follows. Zero: 60 s.
	InitialEvents time.Duration
	// Silence is how long a watch may bring neither an object nor a newer version. After that the watch
	// resumes. A dead connection is noticed after Silence and the 10 s that a server has to answer.
	// Zero: 30 s. Negative: never. docs/adr/0002-silent-watches.md has the reasons and the costs.
	Silence time.Duration
	// MinTimeout and MaxTimeout bound the time after which the server ends a watch. It is random for
	// each watch. Zero: 5 and 10 min, or as near to that as the other bound allows.
	MinTimeout, MaxTimeout time.Duration
	// Absent is the shortest time between two attempts on a kind that is forbidden or not served.
	// Zero: 30 s.
	Absent time.Duration
	// MinBackoff and MaxBackoff bound the wait after consecutive failures: it doubles from the first to the
	// second, with full jitter. It starts anew after 2 good minutes. Zero: 0.8 and 30 s.
	MinBackoff, MaxBackoff time.Duration
	// Audit is the approximate interval of audits; see [Update.Lost]. Each begins after three quarters of it to the
	// whole, at the end of a watch. The minimum is about 2 s. Zero or negative: never.
	Audit time.Duration
	// Limiter bounds the number of open lists. Reflectors may share one. Nil: no bound.
	Limiter *Limiter
	// OnState is called on the goroutine of Run when the phase or the error of the State changes. It
	// must not block. Nil: no call.
	OnState func(State)
	// OnFailure is called on the goroutine of Run with each [Error] after the events before it, also in the same
	// state; not for what another request answers at once. It must not block. Nil: no call.
	OnFailure func(error)
	// Logger gets each kind of message once for each episode of failures. Nil: slog.Default().
	Logger *slog.Logger
	// Rand draws from [0, 1). Nil: math/rand/v2.
	Rand func() float64
}

// Constants of the core. They are no options.
const (
	answer     = 10 * time.Second // for a watch to open, and to end after its timeout
	checkTime  = 10 * time.Second // the mean timeout of a watch of style check, which is random: from half to one and a half
	quickWatch = time.Second      // a watch that ends sooner than this without a frame has failed
	maxNotAPI  = 3                // consecutive answers of no API server, until the kind is unavailable
	maxQuick   = 3                // consecutive watches that end within quickWatch, until the last one has failed
	goodTime   = 2 * time.Minute  // without failure, after which the next failure counts as the first
	maxAsked   = time.Minute      // the longest wait of an ERROR frame; for answers see client.Options.MaxRetryAfter
	maxStreams = 2                // attempts at a streaming list for failures that concern paged lists too

	streamAnswer  = 15 * time.Second       // for a streaming list to open
	listSilence   = time.Minute            // how long a list may bring nothing
	quickPause    = 250 * time.Millisecond // the mean wait between quick watches with new events
	minQuickLimit = 16                     // such watches in a row, until a list follows
	maxQuickLimit = 128                    // the same after repeated lists: the limit doubles
	maxProbe      = 5 * time.Minute        // the longest time between two probes of a watch without bookmarks
)

func (c Options) withDefaults() Options {
	duration := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	switch {
	case c.PageSize == 0:
		c.PageSize = 500
	case c.PageSize < 0:
		c.PageSize = 0
	}
	duration(&c.InitialEvents, time.Minute)
	duration(&c.Silence, 30*time.Second)
	duration(&c.MaxTimeout, max(10*time.Minute, c.MinTimeout))
	duration(&c.MinTimeout, min(5*time.Minute, c.MaxTimeout))
	duration(&c.Absent, 30*time.Second)
	duration(&c.MaxBackoff, max(30*time.Second, c.MinBackoff))
	duration(&c.MinBackoff, min(800*time.Millisecond, c.MaxBackoff))
	return c
}
