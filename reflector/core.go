package reflector

import (
	"errors"
	"time"

	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/internal/paging"
)

var (
	// ErrNoVersion says that a list has no resourceVersion, as those of some aggregated API servers. Such a kind
	// cannot be watched: read it live.
	ErrNoVersion = errors.New("the kind cannot be watched: its lists have no resourceVersion")
	// ErrNoName says that an object has no name.
	ErrNoName = errors.New("the object has no name")
	// ErrNamespace says that the namespace of an object is not a watched one. It also says that an
	// object has a namespace, or has none, unlike the other objects of its kind.
	ErrNamespace = errors.New("the object is of the wrong namespace")
	// ErrStalled says that the server sent nothing in time.
	ErrStalled = errors.New("nothing came in time")
	// ErrQuick says that a watch ended within a second. Either it brought nothing, or it is one of
	// several such watches in a row.
	ErrQuick = errors.New("the watch ended at once")
	// ErrOlder says that the server sent an older version than before.
	ErrOlder = errors.New("the server shows an older state than before")
	// ErrEndless says that the pages of a list do not end. A continue token or a page came twice, or
	// too many empty pages came in a row.
	ErrEndless = paging.ErrEndless
)

// core decides what a Reflector does. Each Step takes one input, and returns updates for the Sink and the
// next action. It has no goroutine, lock, clock or context. One goroutine at a time may use it. The first
// input is started.
type core struct {
	cfg     Options
	state   State
	mode    mode
	next    action // the last answer
	updates []Update

	plan      plan
	cont      string       // the token of the next page
	replacing bool         // Replace was emitted, but neither Sweep nor Discard
	pages     paging.Guard // of the present list
	tally     tally        // of the present list
	lastTally tally        // of the last completed list
	notAPIs   int          // consecutive answers that are not an API server's
	missing   missing
	loss      lossCheck
	auditAt   time.Time // when the next audit is due; zero: never

	streamFailures int             // consecutive streaming lists that failed
	streamWait     backoff.Backoff // until the next streaming list

	open        bool      // the list, watch or probe of mode is open
	opened      time.Time // when the watch was opened
	heard       time.Time // when the watch last showed an object or a newer version
	style       style     // of the watch
	timeout     time.Duration
	frames      int       // frames of this watch
	objects     int       // frames of this watch that carried an object
	expired     int       // consecutive 410s on watches; a frame after the first second resets it
	quick       int       // consecutive watches that ended within quickWatch
	quickUseful int       // quick watches with new events since the last list
	quickLimit  int       // the quickUseful that causes a list
	from        string    // the version that the watch was opened from
	until       time.Time // the deadline of the initial events

	after         mode // the mode after the wait
	failures      int
	goodSince     time.Time // when list and watch began to work; zero while they fail
	suspect       int       // consecutive watches that failed and may have lost events
	serverVersion string    // the server's own version: of its last list, bookmark or probe
	backward      int       // how often the server seemed to go back
	backwardAt    time.Time
	stuckAt       string          // the version of an unreadable stream
	stuck         int             // consecutive failures at stuckAt
	probeWait     backoff.Backoff // until the next probe
}

// mode is what the core is doing.
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

// style is the purpose of a watch.
type style uint8

const (
	long  style = iota // it follows the server until its timeout
	brief              // it gets a bookmark soon, after a silent watch
	check              // it gets a bookmark at once, after a failure: the server may be another one
)

// plan is the present or the next list.
type plan struct {
	reason   string
	newest   bool // of the newest version; else any version that is not older than the sink's
	onePage  bool // all objects in one page
	paged    bool // no streaming list
	reset    bool // the server went back in time
	exact    bool // of exactly the sink's version, unless newest
	optional bool // the watch works, and resumes if this list fails
}

// stepTime is the time of a Step, and its random number.
type stepTime struct {
	now    time.Time
	random float64
}

// newCore returns a core that waits for started.
func newCore(cfg Options) *core {
	cfg = cfg.withDefaults()
	return &core{
		cfg:        cfg,
		state:      State{Relists: map[string]int{}, Restarts: map[string]int{}, NoStream: cfg.Paged},
		plan:       plan{reason: whyFirst, newest: true},
		loss:       lossCheck{wait: backoff.Backoff{Policy: backoff.Policy{Base: 10 * time.Minute, Max: time.Hour}}},
		streamWait: backoff.Backoff{Policy: backoff.Policy{Base: time.Minute, Max: time.Hour}},
		probeWait:  backoff.Backoff{Policy: backoff.Policy{Base: cfg.Absent, Max: max(maxProbe, cfg.Absent)}},
	}
}

// State returns a copy of the state.
func (c *core) State() State { return c.state.clone() }

// Listing reports whether a list is open or requested. It is false during a backoff.
func (c *core) Listing() bool { return c.mode == listing || c.mode == streaming }

// Step returns what follows from the input. now must not go backwards. random is drawn from [0, 1) for
// each Step. Step ignores an input that does not fit the last action.
func (c *core) Step(now time.Time, random float64, in input) output {
	clear(c.updates)
	c.updates = c.updates[:0]
	c.next = c.step(stepTime{now, random}, in)
	return output{c.updates, c.next}
}

func (c *core) step(at stepTime, in input) action {
	if in.event == stopAsked {
		c.abort()
		c.mode, c.open, c.state.RetryAt = stopped, false, time.Time{}
		c.setPhase(at, Stopped)
		if in.err != nil {
			c.state.Err = in.err
		}
		return action{do: doHalt}
	}
	switch c.mode {
	case idle:
		if in.event == started {
			return c.list(at, c.plan)
		}
	case waiting:
		if in.event == timedOut {
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

// resume starts the request that was waiting.
func (c *core) resume(at stepTime) action {
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

// fail counts a failure, and starts a backoff. When it is over the core enters the mode after. atLeast is the wait that the
// server asked for.
func (c *core) fail(at stepTime, verb string, err error, after mode, atLeast time.Duration) action {
	c.countFailure(at)
	return c.delay(at, verb, err, after, atLeast)
}

// delay starts the backoff of fail.
func (c *core) delay(at stepTime, verb string, err error, after mode, atLeast time.Duration) action {
	wait := backoff.Policy{Base: c.cfg.MinBackoff, Max: c.cfg.MaxBackoff, Jitter: 1}.Delay(c.failures, at.random)
	if atLeast > 0 {
		// Jitter keeps clients that the server refused together from retrying together.
		wait = max(wait, atLeast+time.Duration(at.random*float64(min(atLeast/10, time.Second))))
	}
	return c.wait(at, c.failedPhase(), verb, err, after, wait)
}

// countFailure counts a failure. It reports whether the failure begins an episode.
func (c *core) countFailure(at stepTime) (first bool) {
	if c.failures > 0 && !c.goodSince.IsZero() && at.now.Sub(c.goodSince) >= goodTime {
		c.failures = 0
	}
	if first = c.failures == 0; first {
		c.state.Episode++
	}
	c.failures++
	return first
}

// failedPhase is the phase after a failure.
func (c *core) failedPhase() Phase {
	switch {
	case !c.state.UnavailableSince.IsZero():
		return Unavailable
	case c.missing.gone:
		return NotFound
	case c.state.HasSynced:
		return Stale
	}
	return Failing
}

// waitAbsent waits before the next attempt on a kind that is not served, or forbidden.
func (c *core) waitAbsent(at stepTime, bad Phase, verb string, err error, after mode) action {
	if c.failures == 0 {
		c.state.Episode++
	}
	c.failures = max(c.failures, 1)
	wait := c.cfg.Absent + time.Duration(at.random*float64(c.cfg.Absent/10))
	return c.wait(at, bad, verb, err, after, wait)
}

func (c *core) wait(at stepTime, bad Phase, verb string, err error, after mode, d time.Duration) action {
	c.markBad(at, bad, verb, err)
	return c.pause(at, after, d)
}

// markBad records a failure in the state.
func (c *core) markBad(at stepTime, p Phase, verb string, err error) {
	c.goodSince = time.Time{}
	c.state.Err = &Error{Verb: verb, Resource: c.cfg.Resource, Err: err}
	c.setPhase(at, p)
}

func (c *core) pause(at stepTime, after mode, d time.Duration) action {
	c.mode, c.after, c.open = waiting, after, false
	c.state.RetryAt = at.now.Add(d)
	return action{do: doWait, until: c.state.RetryAt}
}

// markGood records that a list is complete or a watch open. The state stays bad after several suspect
// watches until confirmWatch, and after lost events until lossRefuted.
func (c *core) markGood(at stepTime) {
	if c.goodSince.IsZero() {
		c.goodSince = at.now
	}
	c.state.LastEvent = at.now
	c.notAPIs = 0
	if c.suspect > 1 || c.loss.proven {
		c.setPhase(at, c.failedPhase())
		return
	}
	c.state.Err = nil
	c.setPhase(at, Synced)
}

func (c *core) setPhase(at stepTime, p Phase) {
	if c.state.Phase != p {
		c.state.Phase, c.state.Since = p, at.now
	}
}

func (c *core) read(until time.Time) action { return action{do: doRead, until: until} }
