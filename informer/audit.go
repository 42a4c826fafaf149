package informer

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
)

const defaultAudit = 6 * time.Hour

// AuditStats count the audits of an informer by result.
type AuditStats struct {
	// Agreed is the number of audits that found no lost event.
	Agreed uint64
	// Repairs is the number of audits that found lost events, and repaired them.
	Repairs uint64
	// Void is the number of audits whose list was not of the version of the watch, and showed no lost event. They
	// repaired what was lost, too. But a deletion that was lost cannot be told from one that came later.
	Void uint64
	// Failed is the number of audits whose list failed; see reflector.State.AuditErr.
	Failed uint64
	// Lost is the number of objects with lost events, over all repairs.
	Lost uint64
}

// audits counts and logs the audits.
type audits struct {
	mu    sync.Mutex
	stats AuditStats
}

// auditInterval is the interval for the reflector.
func auditInterval(d time.Duration) time.Duration {
	if d == 0 {
		return defaultAudit
	}
	return d
}

// audited takes the result of an audit: the changes of its list, which u completes.
func (in *Informer) audited(u *reflector.Update, changes store.Changes) {
	const named = 5
	var lost uint64
	var names []string
	for c := range changes.All() {
		if !u.Lost(c.Old, c.New) {
			continue
		}
		if lost++; lost <= named {
			names = append(names, c.Key.String()+" ("+missing(c)+")")
		}
	}
	s := &in.audits.stats
	in.audits.mu.Lock()
	switch {
	case lost > 0:
		s.Repairs++
		s.Lost += lost
	case u.Audited == u.Version:
		s.Agreed++
	default:
		s.Void++
	}
	in.audits.mu.Unlock()
	if lost > named {
		names = append(names, fmt.Sprintf("and %d more", lost-named))
	}
	if lost > 0 {
		in.log.Warn("the watch has lost events, a list has repaired them", "lost", lost, "objects", strings.Join(names, ", "))
	}
}

// missing names the event that was lost.
func missing(c store.Change) string {
	switch {
	case c.New == nil:
		return "deleted"
	case c.Old == nil:
		return "added"
	case c.Replaced():
		return "replaced"
	}
	return "modified"
}

func (in *Informer) auditStats() AuditStats {
	failed := in.watch.State().AuditsFailed
	in.audits.mu.Lock()
	defer in.audits.mu.Unlock()
	s := in.audits.stats
	s.Failed = uint64(failed)
	return s
}
