package reflector

import (
	"fmt"
	"strings"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/store"
)

// Event is what happened, seen from the Core.
type Event uint8

const (
	// Start begins, once.
	Start Event = iota + 1
	// Opened: the list, watch or probe that was asked for is there and can be read.
	Opened
	// Item is one object of a page of a list; Input.Entry.
	Item
	// PageDone is the end of a page, or a probe; Input.Version and Input.Continue.
	PageDone
	// Added, Modified and Deleted are frames of a watch; Input.Entry.
	Added
	Modified
	Deleted
	// Bookmark is a frame that only carries a version; Input.Version, and Input.InitialEnd if it
	// ends the initial events. One that cannot be read has Input.Err instead.
	Bookmark
	// End is the end of what is open, or what was asked for could not be opened: Input.Err, the
	// Status of an ERROR frame included. A watch that ended as agreed has none.
	End
	// Discovered is the answer of discovery; Input.Serving. If it could not tell it is an End.
	Discovered
	// Timer: the time of the last action has passed.
	Timer
	// Relist ends what is open: content is to be listed anew, for Input.Reason.
	Relist
	// Stop ends the run.
	Stop
)

// Input is one thing that happened. Only the fields that its Event names count.
type Input struct {
	Event      Event
	Entry      *store.Entry
	Version    string
	Continue   string
	InitialEnd bool
	Serving    client.Serving
	Reason     Reason
	Err        error
}

// Emission is one call of a Sink.
type Emission struct {
	Op      Op
	Entry   *store.Entry // Upsert, Delete
	Reset   bool         // Begin
	Reason  Reason       // Begin
	Version string       // Complete
	Problem Problem      // Report
}

// Op is a method of Sink.
type Op uint8

// The methods of Sink.
const (
	Begin    Op = iota + 1 // BeginReplace
	Upsert                 // Upsert
	Delete                 // Delete
	Complete               // EndReplace
	Abort                  // AbortReplace
	Report                 // Report
)

// To makes the call.
func (e *Emission) To(s Sink) {
	switch e.Op {
	case Begin:
		s.BeginReplace(e.Reset, e.Reason)
	case Upsert:
		s.Upsert(e.Entry)
	case Delete:
		s.Delete(e.Entry)
	case Complete:
		s.EndReplace(e.Version)
	case Abort:
		s.AbortReplace()
	case Report:
		s.Report(e.Problem)
	}
}

func (e *Emission) String() string {
	switch e.Op {
	case Begin:
		s := "begin " + string(e.Reason)
		if e.Reset {
			s += ", reset"
		}
		return s
	case Upsert:
		return "upsert " + entryName(e.Entry)
	case Delete:
		return "delete " + entryName(e.Entry)
	case Complete:
		return "complete at " + quoteEmpty(e.Version)
	case Abort:
		return "abort"
	case Report:
		return fmt.Sprintf("report %s at %s: %v", quoteEmpty(e.Problem.Key.String()), quoteEmpty(e.Problem.ResourceVersion), e.Problem.Err)
	}
	return "nothing"
}

func entryName(e *store.Entry) string {
	h := e.Header()
	return h.Key.String() + "@" + h.ResourceVersion
}

func quoteEmpty(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// Do is what the shell does next.
type Do uint8

const (
	// List asks for a page of a list.
	List Do = iota + 1
	// Probe asks for a page as List does, of which only the version counts.
	Probe
	// Discover asks the discovery of the server which versions serve the kind.
	Discover
	// Watch opens a watch, or a streaming list.
	Watch
	// Read reads on from what is open. Any other action closes it first.
	Read
	// Wait does nothing.
	Wait
	// Halt ends the run.
	Halt
)

// Action is what the shell does next, and reports back with the next Step.
type Action struct {
	Do Do
	// Version is the resourceVersion to list or watch at: empty for what is newest, "0" for
	// whatever the server has at hand; for a list not older than it, for a watch after it.
	Version string
	// Continue is the token of the next page; Version is empty then.
	Continue string
	// Limit is the size of a page; zero: everything in one.
	Limit int64
	// Initial asks a watch for the content first: the streaming list.
	Initial bool
	// Timeout is when the server shall end the watch.
	Timeout time.Duration
	// Until is when to give up and report Timer: for what is to be opened or read, or for Wait.
	Until time.Time
}

// String tells the action without Until.
func (a Action) String() string {
	var b strings.Builder
	switch a.Do {
	case List, Probe:
		b.WriteString("list")
		if a.Do == Probe {
			b.Reset()
			b.WriteString("probe")
		}
		if a.Continue != "" {
			fmt.Fprintf(&b, " continue=%s", a.Continue)
		} else {
			fmt.Fprintf(&b, " at %s", quoteEmpty(a.Version))
		}
		fmt.Fprintf(&b, " limit=%d", a.Limit)
	case Discover:
		b.WriteString("discover")
	case Watch:
		b.WriteString("watch")
		if a.Initial {
			b.WriteString(" initial")
		}
		fmt.Fprintf(&b, " at %s for %v", quoteEmpty(a.Version), a.Timeout.Round(time.Second))
	case Read:
		b.WriteString("read")
	case Wait:
		b.WriteString("wait")
	case Halt:
		b.WriteString("halt")
	}
	return b.String()
}

// Output is what follows from a Step: calls of the Sink, to be made in order before the next
// action. Emit belongs to the Core and is valid until the next Step.
type Output struct {
	Emit []Emission
	Next Action
}
