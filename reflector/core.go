package reflector

import (
	"errors"
	"time"

	"github.com/flyball-io/flyball/internal/paging"
)

var (
	// ErrNoVersion says that a list came without a resourceVersion, so that it cannot be watched.
	ErrNoVersion = errors.New("the list has no resourceVersion")
	// ErrNoName says that an object came without a name.
	ErrNoName = errors.New("the object has no name")
	// ErrNamespace says that an object came without a namespace, or with one, though the others of the
	// kind are not like that, or that it is of a namespace that is not watched.
	ErrNamespace = errors.New("the object is of the wrong namespace")
	// ErrStalled says that the server did not answer or go on in time.
	ErrStalled = errors.New("nothing came in time")
	// ErrQuick says that a watch ended within a second, before anything came, or as others had
	// before it.
	ErrQuick = errors.New("the watch ended at once")
	// ErrOlder says that a version came that is older than what was seen before.
	ErrOlder = errors.New("the server shows an older state than before")
	// ErrEndless says that the pages of a list do not come to an end: a continue token or a page came
	// twice, or page after page was empty.
	ErrEndless = paging.ErrEndless
)

// Core decides what a Reflector does: it is told what happened, and answers with calls of the
// Sink and the next action. It has no goroutine, lock, clock or context, and is for one goroutine
// at a time. Make one with NewCore; the first Step is Start.
type Core struct {
	cfg   Config
	state State
	mode  mode
	next  Action // the last answer
	emit  []Emission

	plan      plan
	cont      string       // the page to ask for
	replacing bool         // Begin was emitted, and neither Complete nor Abort
	pages     paging.Guard // of this list, so far
	tally     tally        // of this list, so far
	whole     tally        // of the last list that was completed
	strange   int          // answers in a row that are not those of an API server
	missing   missing
	deaf      deafness

	unstreamed int       // streaming lists in a row that failed
	streamAt   time.Time // no streaming list before this
	streamGap  time.Duration

	open     bool      // what mode names is open
	opened   time.Time // since when
	style    style     // of the watch
	timeout  time.Duration
	frames   int       // since the watch was opened
	objects  int       // those of them with an object
	expired  int       // 410s on watches in a row, with no frame between them that came after a second
	quick    int       // watches in a row that ended within quickWatch
	hurried  int       // those of them that brought something, since the last list
	patience int       // how many it takes until the next list
	from     string    // the version at which the watch was opened
	until    time.Time // when the initial events have to end

	after      mode // what follows the wait
	failures   int
	well       time.Time // since when nothing is wrong; zero while something is
	doubt      int       // breaks in a row that may have hidden something
	shown      string    // the version that the server gave of itself last: of a list, a bookmark or a probe
	backward   int       // times that the server seemed to go back
	backwardAt time.Time
	stuckAt    string    // the version at which a stream yielded what cannot be used
	stuck      int       // how often
	probeAt    time.Time // no probe before this
	probeGap   time.Duration
}

// mode is what the Core is doing.
type mode uint8

const (
	idle mode = iota
	listing
	streaming
	asking
	probing
	watching
	waiting
	stopped
)

// style is for what a watch is opened.
type style uint8

const (
	long  style = iota // to last
	brief              // to get a bookmark soon: the one before was silent
	check              // to get a bookmark at once: the connection broke, the server may be another
)

// plan is the list that is in progress or to come.
type plan struct {
	reason   Reason
	newest   bool // from the newest version, not just one that is not too old
	whole    bool // in one page
	paged    bool // not by streaming
	reset    bool // the server went back
	optional bool // the watch was in order, and goes on if this list fails
	failures int  // of an optional list
}

// moment is when a Step is made, and the random number for it.
type moment struct {
	now    time.Time
	random float64
}

// NewCore returns a Core that has seen nothing.
func NewCore(cfg Config) *Core {
	cfg = cfg.withDefaults()
	return &Core{
		cfg:   cfg,
		state: State{Relists: map[Reason]int{}, Restarts: map[Reason]int{}, NoStream: cfg.Paged},
		plan:  plan{reason: First},
	}
}

// State is where the Core stands. The copy is the caller's.
func (c *Core) State() State { return c.state.clone() }

// Listing reports whether content is being listed at this moment; not while waiting to try again.
func (c *Core) Listing() bool { return c.mode == listing || c.mode == streaming }

// Step takes what happened and says what follows. now must not go backwards. random is drawn from
// [0, 1) for each Step. Input that does not fit the last action is ignored.
func (c *Core) Step(now time.Time, random float64, in Input) Output {
	clear(c.emit)
	c.emit = c.emit[:0]
	c.next = c.step(moment{now, random}, in)
	return Output{Emit: c.emit, Next: c.next}
}

func (c *Core) step(at moment, in Input) Action {
	if in.Event == Stop {
		c.abort()
		c.mode, c.open, c.state.RetryAt = stopped, false, time.Time{}
		c.phase(at, Stopped)
		if in.Err != nil {
			c.state.Err = in.Err
		}
		return Action{Do: Halt}
	}
	if in.Event == Relist && (c.mode == watching || c.mode == probing || c.mode == streaming) {
		return c.relist(at, in.Reason)
	}
	switch c.mode {
	case idle:
		if in.Event == Start {
			return c.list(at, c.plan)
		}
	case waiting:
		if in.Event == Timer {
			return c.resume(at)
		}
	case listing:
		return c.stepListing(at, in)
	case streaming:
		return c.stepStreaming(at, in)
	case asking:
		return c.stepAsking(at, in)
	case probing:
		return c.stepProbing(at, in)
	case watching:
		return c.stepWatching(at, in)
	}
	return c.next
}

// resume goes on after a wait.
func (c *Core) resume(at moment) Action {
	c.state.RetryAt = time.Time{}
	switch c.after {
	case watching:
		return c.watch(at, c.style)
	case asking:
		c.missing.asked = true
		return c.ask(at)
	}
	return c.request(at)
}

// fail waits, and then does what after says. atLeast is how long the server asks to wait.
func (c *Core) fail(at moment, verb string, err error, after mode, atLeast time.Duration) Action {
	c.another(at)
	return c.delay(at, verb, err, after, atLeast)
}

// delay is the wait of fail.
func (c *Core) delay(at moment, verb string, err error, after mode, atLeast time.Duration) Action {
	wait := c.cfg.Backoff.Delay(c.failures, at.random)
	if atLeast > 0 {
		// Those who were sent away together do not come back together.
		wait = max(wait, atLeast+time.Duration(at.random*float64(min(atLeast/10, time.Second))))
	}
	return c.wait(at, c.failed(), verb, err, after, wait)
}

// another counts a failure. It reports whether that is the first of an episode.
func (c *Core) another(at moment) (first bool) {
	reset := c.cfg.Backoff.ResetAfter
	if c.failures > 0 && reset > 0 && !c.well.IsZero() && at.now.Sub(c.well) >= reset {
		c.failures = 0
	}
	if first = c.failures == 0; first {
		c.state.Episode++
	}
	c.failures++
	return first
}

// failed is the phase after a failure.
func (c *Core) failed() Phase {
	switch {
	case !c.state.UnavailableSince.IsZero():
		return Unavailable
	case c.state.HasSynced:
		return Stale
	}
	return Failing
}

// absent waits until the kind may be there, or allowed.
func (c *Core) absent(at moment, bad Phase, verb string, err error, after mode) Action {
	if c.failures == 0 {
		c.state.Episode++
	}
	c.failures = max(c.failures, 1)
	wait := c.cfg.Absent + time.Duration(at.random*float64(c.cfg.Absent/10))
	return c.wait(at, bad, verb, err, after, wait)
}

func (c *Core) wait(at moment, bad Phase, verb string, err error, after mode, d time.Duration) Action {
	c.bad(at, bad, verb, err)
	return c.pause(at, after, d)
}

// bad notes what went wrong.
func (c *Core) bad(at moment, p Phase, verb string, err error) {
	c.well = time.Time{}
	c.state.Err = &Error{Verb: verb, Resource: c.cfg.Resource, Err: err}
	c.phase(at, p)
}

func (c *Core) pause(at moment, after mode, d time.Duration) Action {
	c.mode, c.after, c.open = waiting, after, false
	c.state.RetryAt = at.now.Add(d)
	return Action{Do: Wait, Until: c.state.RetryAt}
}

// good notes that a list was completed or a watch opened. After breaks in a row that may have hidden
// something that does not count yet: see proven.
func (c *Core) good(at moment) {
	if c.well.IsZero() {
		c.well = at.now
	}
	c.state.LastEvent = at.now
	c.strange = 0
	if c.doubt > 1 || c.deaf.proven {
		c.phase(at, c.failed())
		return
	}
	c.state.Err = nil
	c.phase(at, Synced)
}

func (c *Core) phase(at moment, p Phase) {
	if c.state.Phase != p {
		c.state.Phase, c.state.Since = p, at.now
	}
}

func (c *Core) deadline(at moment, d time.Duration) time.Time {
	if d < 0 {
		return time.Time{}
	}
	return at.now.Add(d)
}

func (c *Core) read(until time.Time) Action { return Action{Do: Read, Until: until} }
