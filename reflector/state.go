package reflector

import (
	"fmt"
	"maps"
	"time"
)

// Phase is what a Reflector is doing, and whether it works.
type Phase uint8

const (
	// Idle: Run has not been called.
	Idle Phase = iota
	// Listing: the Reflector reads the content of the kind.
	Listing
	// Synced: the content follows the server. A watch is open, or resumes after a regular end.
	Synced
	// Failing: the Reflector has never been synced, and the last attempt failed. It retries.
	Failing
	// Stale: the Reflector was synced, and has lost the server. The sink holds the state as of
	// State.ResourceVersion. The Reflector retries.
	Stale
	// Forbidden: the server denies list or watch. The Reflector retries after Options.Absent.
	Forbidden
	// NotFound: the server does not serve the kind. It was never listed, or it is gone: its definition was
	// deleted. The Reflector retries after Options.Absent.
	NotFound
	// Unavailable: the Reflector was synced, and the server now answers as if it did not serve the kind. It
	// is not proven that the kind is gone. The answer is a 404 or 405, or a web page instead of a list; or
	// the server serves other versions only. The sink holds the state as of State.ResourceVersion. The
	// Reflector retries.
	Unavailable
	// Stopped: Run has returned.
	Stopped
)

var phases = [...]string{"idle", "listing", "synced", "failing", "stale", "forbidden", "not found", "unavailable", "stopped"}

func (p Phase) String() string {
	if int(p) < len(phases) {
		return phases[p]
	}
	return fmt.Sprintf("phase %d", p)
}

// Good reports whether nothing is wrong: the phase is Idle, Listing or Synced.
func (p Phase) Good() bool { return p == Idle || p == Listing || p == Synced }

// The reasons of lists: the keys of State.Relists.
const (
	whyFirst       = "first"        // the first list
	whyExpired     = "expired"      // 410 on the watch: the version is too old for the server
	whyListExpired = "list expired" // 410 on a list, or between two of its pages
	whyTooLarge    = "too large"    // the server does not know the version yet
	whyOlderView   = "older view"   // the list was older than the content
	whyWentBack    = "went back"    // the server itself went back in time
	whyGarbage     = "garbage"      // the watch is unreadable, repeatedly at one version
	whyUnplaced    = "unplaced"     // the key of an event's object is unusable
	whyUnreadable  = "unreadable"   // the server cannot read an object of the kind from its storage
	whyErrors      = "errors"       // the watch ends with a server error, repeatedly at one version
	whyLost        = "lost events"  // the server has a newer version, and the watch shows nothing
	whyBehind      = "behind"       // watches end too soon to keep up
	whyRefused     = "refused"      // the server rejects the watch, or the version of the list
	whyAudited     = "audited"      // an audit: a timed list, to find lost events
	whyKindGone    = "kind gone"    // the definition of the kind is gone
)

// The reasons to resume the watch at its last version: the keys of State.Restarts.
const (
	whyEnded   = "ended"   // a regular end: its timeout, or the server closed it
	whySilent  = "silent"  // nothing came in time
	whyBroken  = "broken"  // the connection broke, or could not be made
	whyBusy    = "busy"    // 429: the server asks for a pause
	whyFailed  = "failed"  // the server sent an error
	whyMangled = "mangled" // the stream had unreadable bytes
)

// State is the state of a Reflector. It is a copy.
type State struct {
	Phase Phase
	// Since is when the phase began.
	Since time.Time
	// HasSynced is set when the first list is complete in the sink, and stays set.
	HasSynced bool
	// UnavailableSince is when the kind became Unavailable, else zero. It stays set in other phases, until
	// a list is complete or the kind is proven to be gone.
	UnavailableSince time.Time
	// Err is the last failure, an *Error, until the Reflector works again. In phase Stopped it is the
	// cause of the stop.
	Err error
	// RetryAt is when the present wait ends; zero without a wait. Err says whether the server asked for a
	// longer wait.
	RetryAt time.Time
	// ResourceVersion is the version of the sink: it has all events up to it. Empty before the first list
	// is complete.
	ResourceVersion string
	// LastEvent is when the server last answered: with an object, a page, a frame, or an open watch.
	LastEvent time.Time
	// Relists counts the complete lists by reason, Restarts the resumed watches by reason. Probes counts the
	// small lists that only ask for the version of the server.
	Relists  map[string]int
	Restarts map[string]int
	Probes   int
	// AuditsFailed counts the audits whose list failed. The watch was resumed, and the audit is repeated after an eighth
	// of the period. AuditErr is the last such failure, an *Error, until a list is complete.
	AuditsFailed int
	AuditErr     error
	// NoStream is set while lists are paged because the last streaming list failed. The first list after a
	// minute or more streams again. NoStream is cleared when a streaming list is complete.
	NoStream bool
	// Unordered is set when events repeatedly come in another order than their versions, and lists show that
	// the server did not go back. From then on only versions of the same object are compared. It is
	// cleared when the server does go back.
	Unordered bool
	// Episode counts the episodes of failures. An episode ends after two good minutes.
	Episode int
}

func (s State) clone() State {
	s.Relists, s.Restarts = maps.Clone(s.Relists), maps.Clone(s.Restarts)
	return s
}

// count counts r in a copy of the map. Copies of the State share the old map.
func count(m *map[string]int, r string) {
	next := maps.Clone(*m)
	next[r]++
	*m = next
}

// Error says which operation of a Reflector failed.
type Error struct {
	// Verb is "list" or "watch".
	Verb string
	// Resource is Options.Resource.
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
