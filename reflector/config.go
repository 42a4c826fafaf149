package reflector

import (
	"time"

	"github.com/flyball-io/flyball/backoff"
)

// Config are the sizes and times of a Core. The zero value means the defaults. They are read
// once.
type Config struct {
	// Resource is what errors call the kind, such as "deployments.apps". Empty: nothing.
	Resource string
	// Namespace is the one that is watched: an object of another cannot be placed. Empty: all.
	Namespace string
	// PageSize is how many objects a page of a list has. Zero: 500. Negative: all of them. A
	// server may answer with more when it lists from memory.
	PageSize int64
	// Paged lists in pages always, and never asks for a streaming list.
	Paged bool
	// InitialEvents is how long a streaming list may go on without a further object before its
	// end; ten times as long it may take as a whole. After that the list is paged. Zero: 60 s.
	InitialEvents time.Duration
	// Silence is how long nothing may come on a watch, neither an object nor a bookmark, until it
	// is opened again. With the time that the server has to answer, of 10 s, it is the bound
	// after which a dead connection is noticed. Zero: 30 s. Negative: never. Why it is
	// done so, and what it costs, is in docs/adr/0002-silent-watches.md.
	Silence time.Duration
	// MinTimeout and MaxTimeout bound the time after which the server shall end a watch, drawn at
	// random for each. Zero: 5 and 10 min, or as near to that as the other one allows.
	MinTimeout, MaxTimeout time.Duration
	// Stall is how long nothing may come on a list. Zero: 60 s. Negative: for ever.
	Stall time.Duration
	// Absent is the shortest time between two attempts on a kind that is forbidden or not served.
	// Zero: 30 s.
	Absent time.Duration
	// Backoff is the wait after failures in a row. Its zero value: 0.8 s doubling to 30 s, full
	// jitter, from the start again after 2 good minutes.
	Backoff backoff.Policy
}

// Times that are part of how the Core works, not of how it is tuned.
const (
	answer     = 10 * time.Second // for a watch to be opened, and for one to end after its timeout
	checkTime  = 10 * time.Second // the timeout of a watch that is to show that the server is sane
	quickWatch = time.Second      // a watch that ends sooner than this without a frame has failed
	maxStrange = 3                // answers in a row that are not an API server's make a kind unavailable
	maxQuick   = 3                // so has this one in a row that ends so soon, whatever came on it
	maxAsked   = time.Minute      // the longest wait that an ERROR frame may ask for; answers: client.Options.MaxRetryAfter
	maxStreams = 2                // tries of a streaming list, where the plain one would fail alike

	streamAnswer = 15 * time.Second // for a streaming list to be opened
	minStreamGap = time.Minute      // from a streaming list that failed to the next
	maxStreamGap = time.Hour
	pace         = 250 * time.Millisecond // about, between watches that end at once and bring something
	minHurry     = 16                     // of them in a row, until a list brings what is still to come
	maxHurry     = 128                    // likewise, when that has happened some times
	maxEmpty     = 16                     // empty pages in a row, which a list may have
	maxProbe     = 5 * time.Minute        // the longest time between two probes of a watch without bookmarks
)

func (c Config) withDefaults() Config {
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
	duration(&c.Stall, time.Minute)
	duration(&c.Absent, 30*time.Second)
	if c.Backoff == (backoff.Policy{}) {
		c.Backoff = backoff.Policy{
			Base: 800 * time.Millisecond, Factor: 2, Max: 30 * time.Second,
			Jitter: 1, ResetAfter: 2 * time.Minute,
		}
	}
	return c
}
