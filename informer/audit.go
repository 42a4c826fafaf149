package informer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/audit"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

const (
	defaultAudit = 6 * time.Hour
	minAudit     = time.Second
)

// AuditStats count the audits of an informer, by how they ended.
type AuditStats struct {
	// Agreed found nothing that was lost.
	Agreed uint64
	// Repairs found lost events, and had the content listed anew.
	Repairs uint64
	// Void could not tell, since content was listed meanwhile or the watch did not follow the server.
	Void uint64
	// Failed could not list the metadata.
	Failed uint64
	// Lost is the number of objects whose events were lost, of all repairs.
	Lost uint64
	// Off is set while the server does not list metadata, or not such as can be compared. It is asked again
	// after four periods.
	Off bool
}

// auditor runs the audits of an informer. Between them there is no goroutine, but a timer that wakes the
// applier.
type auditor struct {
	in       *Informer
	source   audit.Source // nil: there are none
	period   time.Duration
	core     audit.Core // of the audit that runs
	unmended int        // that the log has told of; likewise

	mu      sync.Mutex
	timer   *time.Timer // nil before the first sync, and after the end
	next    time.Time
	running bool
	stats   AuditStats
}

func newAuditor(in *Informer, source reflector.Source) *auditor {
	a := &auditor{in: in, period: in.o.Audit}
	if a.period == 0 {
		a.period = defaultAudit
	}
	if s, ok := source.(audit.Source); ok && a.period > 0 {
		a.source, a.period = s, max(a.period, minAudit)
	}
	return a
}

// begin has audits made from now on.
func (a *auditor) begin(now time.Time) {
	if a.source == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(time.Hour, a.in.fifo.Wake)
	a.schedule(now, nil)
}

// schedule has the next audit made in time. mu is held.
func (a *auditor) schedule(now time.Time, err error) {
	a.running = false
	if a.timer != nil {
		a.next = audit.Next(now, a.period, err, rand.Float64())
		a.timer.Reset(a.next.Sub(now))
	}
}

// stop has no further audits made.
func (a *auditor) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// due starts an audit if it is time.
func (a *auditor) due(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil || a.running || now.Before(a.next) {
		return
	}
	a.running = true
	a.in.group.Go("audit "+a.in.o.Kind.GVK.Kind, func(ctx context.Context) error {
		var last audit.Action
		err := run.Safely("audit", func() error {
			last = a.audit(ctx)
			return last.Err
		})
		if p, ok := errors.AsType[*run.PanicError](err); ok {
			last = a.core.Fail(p) // which forgets what it held
		}
		if ctx.Err() == nil {
			a.ended(last)
		}
		return nil
	})
}

func (a *auditor) audit(ctx context.Context) audit.Action {
	in := a.in
	return audit.Run(ctx, audit.Options{
		Core: &a.core, Source: a.source, Objects: in.store.Snapshot().Len(),
		Acquire: func(ctx context.Context) (audit.Turn, error) { return in.o.AuditLimiter.Acquire(ctx) },
		Key:     a.key, Observe: a.observe, Held: func(key object.Key) audit.State { return held(in.store, key) },
	})
}

// ended takes note of how an audit ended, and tells of it.
func (a *auditor) ended(last audit.Action) {
	in := a.in
	a.mu.Lock()
	s := &a.stats
	off := s.Off
	s.Off = audit.Unfit(last.Err) || off && last.Err != nil
	switch {
	case len(last.Lost) > 0:
		s.Repairs++
		s.Lost += uint64(len(last.Lost))
	case last.Err == nil:
		s.Agreed++
	case audit.Void(last.Err):
		s.Void++
	default:
		s.Failed++
	}
	a.schedule(time.Now(), last.Err)
	next := a.next
	a.mu.Unlock()

	switch {
	case len(last.Lost) > 0:
		in.watch.Relist(reflector.Audited)
		in.log.Warn("the watch has lost events, listing again", "lost", len(last.Lost), "objects", some(last.Lost))
	case audit.Unfit(last.Err):
		if !off {
			in.log.Info("the watch cannot be audited", "err", last.Err, "next", next)
		}
	case last.Err != nil && !audit.Void(last.Err):
		in.log.Info("audit of the watch failed", "err", last.Err, "next", next)
	}
	if last.Unmended > a.unmended {
		in.log.Info("objects differ from their metadata after they were listed again, left alone", "objects", last.Unmended)
	}
	if last.Err == nil {
		a.unmended = last.Unmended
	}
}

func (a *auditor) figures() AuditStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stats
}

// some names the first few of the objects.
func some(lost []audit.Lost) string {
	const few = 5
	var b strings.Builder
	for i := range lost[:min(len(lost), few)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(lost[i].String())
	}
	if n := len(lost) - few; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	return b.String()
}

// key is the one under which an object is held. False: it is not one of this informer.
func (a *auditor) key(key object.Key) (object.Key, bool) {
	if a.in.o.Kind.ClusterScoped {
		key.Namespace = ""
	}
	only := a.in.namespace
	return key, only == "" || key.Namespace == "" || key.Namespace == only
}

// observe returns the version that the watch has reached, and a snapshot taken then or later.
func (a *auditor) observe() (audit.Watch, audit.Holding) {
	in := a.in
	s := in.watch.State()
	in.applier.catchUp()
	snapshot := in.store.Snapshot()
	return audit.Watch{
		Good:  s.Phase == reflector.Synced && in.Unavailable() == nil,
		Lists: in.avail.applied.Load(), Version: s.ResourceVersion, Unordered: s.Unordered,
		Selected: in.o.Selection.Labels != nil || in.o.Selection.Fields != nil,
	}, holding{snapshot}
}

// holding is a snapshot as an audit sees it.
type holding struct{ s *store.Snapshot }

func (h holding) State(key object.Key) audit.State {
	if e, ok := h.s.Lookup(key); ok {
		return stateOf(e)
	}
	return audit.State{}
}

func (h holding) All() iter.Seq2[object.Key, audit.State] {
	return func(yield func(object.Key, audit.State) bool) {
		more := true
		all, _ := h.s.Select(store.Query{Match: func(e *store.Entry) bool { // lent, and so without its bytes
			more = more && yield(e.Key(), stateOf(e))
			return !more
		}})
		for range all {
			break
		}
	}
}

func held(s *store.Store, key object.Key) (state audit.State) {
	s.Look(key, func(e *store.Entry) { state = stateOf(e) })
	return state
}

func stateOf(e *store.Entry) audit.State {
	s := audit.State{There: true, UID: e.UID(), Version: e.ResourceVersion()}
	s.Named = e.Err() != nil && s.UID == ""
	return s
}
