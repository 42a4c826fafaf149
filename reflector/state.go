package reflector

import (
	"fmt"
	"maps"
	"time"
)

// Phase is where a Reflector stands.
type Phase uint8

const (
	// Idle is a Reflector that was not run yet.
	Idle Phase = iota
	// Listing reads the content of the kind, for the first time or again.
	Listing
	// Synced follows the server: a watch is open, or is being opened again after it ended as
	// agreed.
	Synced
	// Failing has never been synced, and the last attempt failed. It tries again.
	Failing
	// Stale was synced once and has lost the server. The sink holds the state as of
	// State.ResourceVersion. It tries again.
	Stale
	// Forbidden may not list or watch the kind. It asks again after half a minute.
	Forbidden
	// NotFound means that the server does not serve the kind: discovery says so, or there never was
	// anything. It asks again after half a minute.
	NotFound
	// Unavailable was synced once, and is now answered as if the server did not serve the kind,
	// without discovery having confirmed it: by a 404 or 405, a page instead of a list, or because
	// only other versions are served. The sink holds the state as of State.ResourceVersion. It asks
	// again, at most twice a minute.
	Unavailable
	// Stopped is a Reflector whose Run has returned.
	Stopped
)

var phases = [...]string{"idle", "listing", "synced", "failing", "stale", "forbidden", "not found", "unavailable", "stopped"}

func (p Phase) String() string {
	if int(p) < len(phases) {
		return phases[p]
	}
	return fmt.Sprintf("phase %d", p)
}

// Good reports whether nothing is wrong: the kind is being listed, or synced.
func (p Phase) Good() bool { return p == Idle || p == Listing || p == Synced }

// Reason says why content is listed or a watch is opened.
type Reason string

// Why the content is listed.
const (
	First       Reason = "first"        // nothing was listed yet
	Expired     Reason = "expired"      // 410 on the watch: the version is too old for the server
	ListExpired Reason = "list expired" // 410 on a list, or between two of its pages
	TooLarge    Reason = "too large"    // the server does not know so new a version
	OlderView   Reason = "older view"   // the list was older than what was seen already
	WentBack    Reason = "went back"    // the server itself is older than what was seen already
	Garbage     Reason = "garbage"      // the watch yields what cannot be read, again at one version
	Unplaced    Reason = "unplaced"     // an event did not say which object it is of
	Unreadable  Reason = "unreadable"   // the server cannot read an object of the kind from its storage
	Errors      Reason = "errors"       // the watch ends with an error of the server, again at one version
	Deaf        Reason = "deaf"         // the server has a newer version, and nothing comes on the watch
	Behind      Reason = "behind"       // watches end so soon that they do not keep up
	Refused     Reason = "refused"      // the server does not accept the watch, or the version of the list
	Audited     Reason = "audited"      // an audit has found what the watch did not show
	KindGone    Reason = "kind gone"    // discovery has the kind in no version any more
)

// Why a watch is opened again at the version where the last one ended.
const (
	Ended   Reason = "ended"   // as agreed, after its time or by the server
	Silent  Reason = "silent"  // nothing came for too long
	Broken  Reason = "broken"  // the connection broke, or could not be made
	Busy    Reason = "busy"    // 429: the server asks for a pause
	Failed  Reason = "failed"  // the server answered or sent an error
	Mangled Reason = "mangled" // the stream had something in it that cannot be read
)

// State is where a Reflector stands. It is a copy.
type State struct {
	Phase Phase
	// Since is when the phase began.
	Since time.Time
	// HasSynced is set once the first content is complete in the sink, and stays.
	HasSynced bool
	// UnavailableSince is when the kind became Unavailable; zero while it is not. It stays through
	// other phases until a list is complete, or discovery has confirmed that the kind is gone.
	UnavailableSince time.Time
	// Err is what went wrong last, an *Error, until it works again; of a Stopped one the cause.
	Err error
	// RetryAt is when it tries again; zero while it does not wait. Err says whether a server has asked
	// for a longer wait.
	RetryAt time.Time
	// ResourceVersion is how far the sink is: everything up to it is there. Empty before the
	// first content is complete.
	ResourceVersion string
	// LastEvent is when the server was last heard of: a list, a frame or a bookmark, or a watch
	// that was opened.
	LastEvent time.Time
	// Relists counts completed lists, and Restarts watches that were to be opened again, by their
	// reasons. Probes counts the small lists that only ask for the version of the server.
	Relists  map[Reason]int
	Restarts map[Reason]int
	Probes   int
	// NoStream is set while lists are paged because the last streaming list could not be had. It is
	// tried again with a list a minute later or more, and cleared when one comes to its end.
	NoStream bool
	// Unordered is set once events have come in another order than that of their versions, again
	// after a list has shown that the server did not go back: each object is then followed by its own
	// versions. It is cleared when the server does go back.
	Unordered bool
	// Episode counts the times in which something was wrong; one ends after two good minutes.
	Episode int
}

func (s State) clone() State {
	s.Relists, s.Restarts = maps.Clone(s.Relists), maps.Clone(s.Restarts)
	return s
}

// count replaces a map by one that counts one more, so that copies of the State stay as they are.
func count(m *map[Reason]int, r Reason) {
	next := maps.Clone(*m)
	next[r]++
	*m = next
}

// Error says what a Reflector could not do.
type Error struct {
	// Verb is "list" or "watch".
	Verb string
	// Resource is the subject, as the Options name it.
	Resource string
	Err      error
}

func (e *Error) Error() string {
	if e.Resource == "" {
		return e.Verb + ": " + e.Err.Error()
	}
	return e.Verb + " " + e.Resource + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }
