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

// AuditStats count the audits of an informer by result.
type AuditStats struct {
	// Agreed is the number of audits that found no lost event.
	Agreed uint64
	// Repairs is the number of audits that found lost events. A list follows each of them.
	Repairs uint64
	// Void is the number of audits without a result: a list came between, or the watch did not follow the
	// server.
	Void uint64
	// Failed is the number of audits that could not list the metadata.
	Failed uint64
	// Lost is the number of objects with lost events, over all repairs.
	Lost uint64
	// Off is set while the server does not list metadata, or lists metadata that cannot be compared. The
	// next attempt follows after four periods.
	Off bool
}

// auditor runs the audits of an informer. Each audit has a goroutine. A timer wakes the applier for the next
// one.
type auditor struct {
	in       *Informer
	source   audit.Source // nil: no audits
	period   time.Duration
	core     audit.Core // for the running audit
	unmended int        // the logged number of unmended objects; for the running audit

	mu      sync.Mutex
	timer   *time.Timer // nil before the first sync, and after stop
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

// begin schedules the first audit.
func (a *auditor) begin(now time.Time) {
	if a.source == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(time.Hour, a.in.wake)
	a.schedule(now, nil)
}

// schedule sets the time of the next audit. The caller holds mu.
func (a *auditor) schedule(now time.Time, err error) {
	a.running = false
	if a.timer != nil {
		a.next = audit.Next(now, a.period, err, rand.Float64())
		a.timer.Reset(a.next.Sub(now))
	}
}

// stop ends the schedule. A running audit goes on.
func (a *auditor) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// due starts an audit if its time has come.
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
			last = a.core.Fail(p) // it clears the core for the next audit
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
		Acquire: func(ctx context.Context) (audit.Permit, error) { return in.o.AuditLimiter.Acquire(ctx) },
		Key:     a.key, Observe: a.observe, Held: func(key object.Key) audit.State { return held(in.store, key) },
	})
}

// ended counts and logs the result of an audit, lists if events were lost, and schedules the next audit.
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
		in.watch.Relist("audited")
		in.log.Warn("the watch has lost events, listing again", "lost", len(last.Lost), "objects", some(last.Lost))
	case audit.Unfit(last.Err):
		if !off {
			in.log.Info("the watch cannot be audited", "err", last.Err, "next", next)
		}
	case last.Err != nil && !audit.Void(last.Err):
		in.log.Info("audit of the watch failed", "err", last.Err, "next", next)
	}
	if last.Unmended > a.unmended {
		in.log.Info("objects differ from their metadata after they were listed again, left alone", "count", last.Unmended)
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

// some returns the names of the first few objects.
func some(lost []audit.Lost) string {
	const most = 5
	var b strings.Builder
	for i := range lost[:min(len(lost), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(lost[i].String())
	}
	if n := len(lost) - most; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	return b.String()
}

// key returns the key under which the store holds an object. It returns false for an object that this informer
// does not watch.
func (a *auditor) key(key object.Key) (object.Key, bool) {
	if a.in.Kind().ClusterScoped {
		key.Namespace = ""
	}
	return key, key.Namespace == "" || a.in.watches(key.Namespace)
}

// observe returns the state of the watch, and a snapshot that has at least its version.
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

// holding is a snapshot as an audit.Holding.
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
		all, _ := h.s.Select(store.Query{Match: func(e *store.Entry) bool { // the lent entry has no bytes
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
