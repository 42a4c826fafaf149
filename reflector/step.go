package reflector

import (
	"time"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/store"
)

// event is the kind of an input.
type event uint8

const (
	// started: Run begins. It comes once.
	started event = iota + 1
	// opened: the requested list, watch or probe is open.
	opened
	// itemCame: an object of a page, in entry.
	itemCame
	// pageCame: the end of a page or probe, with version and cont.
	pageCame
	// frameCame: a frame of a watch, with what and entry. A bookmark has version and initialEnd, or err if
	// it is unreadable. An ERROR frame comes as ended.
	frameCame
	// ended: the list, watch or probe ended or did not open, for err. A regular end of a watch has no err.
	ended
	// discovered: the answer of discovery, in answer. Without an answer, ended comes.
	discovered
	// timedOut: the deadline of the last action has passed.
	timedOut
	// stopAsked: the context of Run has ended, for err.
	stopAsked
)

// input is one event. Only the fields that its event names are set.
type input struct {
	event      event
	what       wire.EventType
	entry      *store.Entry
	version    string
	cont       string
	initialEnd bool
	answer     MissingError // without its Err and Unknown
	err        error
}

// output is the result of a Step: updates for the sink, in order, and then the next action. The core owns
// the updates. They are valid until the next Step.
type output struct {
	updates []Update
	next    action
}

// do is the kind of an action.
type do uint8

const (
	// doList requests a page of a list.
	doList do = iota + 1
	// doProbe requests a page as doList does. Only its version counts.
	doProbe
	// doDiscover asks the discovery of the server which versions serve the kind.
	doDiscover
	// doWatch opens a watch, or a streaming list.
	doWatch
	// doRead reads on from the open list or watch. Any other action closes it first.
	doRead
	// doWait waits until the deadline.
	doWait
	// doHalt ends the run.
	doHalt
)

// action is what the shell does next. The next input is its result.
type action struct {
	do do
	// version is the resourceVersion of a list or watch. A list is not older than it, a watch begins after
	// it. Empty: the newest.
	version string
	// exact makes a list of exactly that version.
	exact bool
	// cont is the token of the next page; version is empty then.
	cont string
	// limit is the size of a page; zero: all objects in one page.
	limit int64
	// initial makes a watch a streaming list: the content comes first.
	initial bool
	// prove asks, before discovery, for a proof that the kind is gone.
	prove bool
	// timeout is the time after which the server ends the watch.
	timeout time.Duration
	// until is the deadline. After it the input is timedOut. Zero: none.
	until time.Time
}
