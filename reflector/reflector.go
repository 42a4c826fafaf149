package reflector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/internal/jitter"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Source lists and watches one kind, or a selection of it; a client.Feed is one. The ctx of a call ends
// the returned list or watch too. A Source should not retry, since the Reflector does.
type Source interface {
	List(ctx context.Context, q wire.ListQuery) (*wire.List, error)
	Watch(ctx context.Context, q wire.WatchQuery) (*wire.Watch, error)
}

// discoverer is a Source that can say whether the server serves its kind, and prove that it is gone; a
// client.Feed is one. Answers must be fresh; see client.Feed. Without a discoverer, no kind is ever gone.
type discoverer interface {
	Served(ctx context.Context) (here bool, elsewhere []string, err error)
	// Gone reports whether the kind is proven to be gone with all of its objects. The error says why
	// that cannot be proven.
	Gone(ctx context.Context) (bool, error)
	// Define reads what Gone needs while the kind is there. It is called beside the other methods, and
	// often. It returns at once if there is nothing to read.
	Define(ctx context.Context)
	// Shows tells the scope of the objects, when it changes and at each watch. It sends nothing, and must not
	// block.
	Shows(namespaced bool)
}

// copier is a Sink whose function copies each incoming object, once, for its entry to own. The copy may omit fields.
// The function must not block, and must not keep its argument.
type copier interface {
	Copier() func(wire.Raw) wire.Raw
}

// newEntry returns the entry of an object. The entry owns the bytes. An object with an unreadable header gives
// a rejected entry, with the readable part of its key. For an object of another kind the key is empty.
func newEntry(raw wire.Raw) *store.Entry {
	e, err := store.NewEntry(raw)
	if err != nil {
		return rejected(err)
	}
	return e
}

// rejected returns the entry of an object that cannot be decoded.
func rejected(err error) *store.Entry {
	var key object.Key
	if d, ok := errors.AsType[*wire.DecodeError](err); ok && !foreign(err) {
		key = d.Key
	}
	return store.Rejected(object.Header{Key: key}, err)
}

// foreign reports whether err is about an object of another kind. Another version is not another kind.
func foreign(err error) bool {
	k, ok := errors.AsType[*wire.KindError](err)
	return ok && (k.Got.Group != k.Want.Group || k.Got.Kind != "" && k.Got.Kind != k.Want.Kind)
}

// Reflector mirrors the content of a Source into a Sink. It runs once.
type Reflector struct {
	src  Source
	sink Sink
	copy func(wire.Raw) wire.Raw
	o    Options
	ran  atomic.Bool

	// These belong to Run.
	core   *core
	log    log
	beside *run.Group
	shown  bool // an object has shown the scope
	bare   bool // it has no namespace

	mu    sync.Mutex
	state State
}

// New returns a Reflector, or an error for a wrong option. It starts nothing.
func New(src Source, sink Sink, o Options) (*Reflector, error) {
	switch {
	case src == nil:
		return nil, &option.Error{Of: "reflector.New", Field: "source", Err: errors.New("is nil")}
	case sink == nil:
		return nil, &option.Error{Of: "reflector.New", Field: "sink", Err: errors.New("is nil")}
	case o.MinTimeout < 0 || o.MaxTimeout < 0 || o.MaxTimeout > 0 && o.MaxTimeout < o.MinTimeout:
		return nil, badOption("MinTimeout, MaxTimeout", "%v to %v is no range", o.MinTimeout, o.MaxTimeout)
	case o.InitialEvents < 0:
		return nil, badOption("InitialEvents", "%v is negative", o.InitialEvents)
	case o.Absent < 0:
		return nil, badOption("Absent", "%v is negative", o.Absent)
	}
	o.Logger = logguard.Logger(o.Logger)
	if o.Rand == nil {
		o.Rand = jitter.Float64
	}
	r := &Reflector{src: src, sink: sink, o: o, core: newCore(o), copy: wire.Raw.Clone}
	if c, ok := sink.(copier); ok {
		r.copy = c.Copier()
	}
	r.log = log{to: o.Logger.With("resource", o.Resource)}
	r.state = r.core.state
	return r, nil
}

func badOption(field, format string, args ...any) error {
	return &option.Error{Of: "reflector.Options", Field: field, Err: fmt.Errorf(format, args...)}
}

// State returns the present state. The sink has all events up to its ResourceVersion.
func (r *Reflector) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.clone()
}

// Version returns State().ResourceVersion.
func (r *Reflector) Version() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.ResourceVersion
}

// Run lists and watches until ctx ends, and returns its cause. No failure of the server ends Run. A
// second call returns a run.ErrRunning.
func (r *Reflector) Run(ctx context.Context) error {
	if !r.ran.CompareAndSwap(false, true) {
		return fmt.Errorf("reflector of %s: %w, or has run before", r.o.Resource, run.ErrRunning)
	}
	r.beside, _ = run.New(ctx)
	defer r.beside.Wait()
	defer r.beside.Stop(nil)
	s := &session{r: r, ctx: ctx}
	defer s.close()
	for in := (input{event: started}); ; {
		if ctx.Err() != nil {
			in = input{event: stopAsked, err: context.Cause(ctx)}
		}
		now := time.Now()
		next := r.step(now, in)
		complete := false
		if next.do == doRead {
			s.readUntil(next.until)
			in, complete = s.take()
		}
		for !complete {
			r.sink.Commit()
			switch next.do {
			case doHalt:
				return context.Cause(ctx)
			case doRead:
				s.fill()
				in, complete = s.take()
			default:
				in, complete = s.act(now, next), true
			}
		}
	}
}

// step runs a Step of the core, applies its updates to the sink, and returns the next action.
func (r *Reflector) step(now time.Time, in input) action {
	phase, err, failed := r.core.state.Phase, r.core.state.Err, r.core.state.AuditsFailed
	out := r.core.Step(now, r.o.Rand(), in)
	for i := range out.updates {
		u := &out.updates[i]
		if bare, ok := u.scope(); ok && (!r.shown || bare != r.bare) {
			again := r.shown
			r.shown, r.bare = true, bare
			if again {
				r.showScope()
			}
		}
		r.sink.Apply(u) // it may recycle the entry
		if u.What == Replace {
			r.log.list(u)
		}
	}
	r.mu.Lock()
	r.state = r.core.state
	r.mu.Unlock()
	if r.core.state.Phase != phase || r.core.state.Err != err {
		r.sink.Commit()
		r.log.state(&r.core.state)
		if r.o.OnState != nil {
			r.o.OnState(r.State())
		}
	}
	if r.core.state.AuditsFailed != failed {
		r.log.to.Info("audit of the watch failed", "err", r.core.state.AuditErr)
	}
	if r.core.state.Phase == Synced && (phase != Synced || out.next.do == doWatch) {
		r.define()
	}
	if now := &r.core.state; now.Err != nil && now.Err != err && now.Phase != Stopped && r.o.OnFailure != nil {
		r.o.OnFailure(now.Err)
	}
	return out.next
}

// scope reports whether the object of an update has no namespace; ok is false if the update does not show it.
func (u *Update) scope() (bare, ok bool) {
	switch {
	case u.What == Outside, u.What == Put && u.Entry.Err() == nil:
		return u.Entry.Key().Namespace == "", true
	case u.What == Unusable && errors.Is(u.Err, ErrNamespace):
		return u.Key.Namespace == "", u.Key.Name != ""
	}
	return false, false
}

// showScope tells the source that the scope of objects has changed. The definition of a kind may be made anew with
// another one, while the path of its lists stays.
func (r *Reflector) showScope() {
	if d, ok := r.src.(discoverer); ok {
		d.Shows(!r.bare)
	}
}

// define lets the source read the definition of the kind, beside the watch. It tells the scope once more, since
// discovery may have been late.
func (r *Reflector) define() {
	if d, ok := r.src.(discoverer); ok {
		if r.shown {
			d.Shows(!r.bare)
		}
		r.beside.Go("", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeoutCause(ctx, askTime, ErrStalled)
			defer cancel()
			d.Define(ctx)
			return nil
		})
	}
}

// shortPause is how long a server may be busy without a warning. It is busy for a short time whenever a
// CustomResourceDefinition changes, as when a webhook's CA is written into it.
const shortPause = 10 * time.Second

// log logs each kind of message once for each episode of failures.
type log struct {
	to      *slog.Logger
	episode int
	phases  uint // the phases logged in this episode, as bits
	paused  bool // the pause of this episode is logged
}

func (l *log) list(u *Update) {
	switch {
	case u.Reset:
		l.to.Warn("server went back in time, taking its content over anew")
	case u.Reason != whyFirst && u.Reason != whyAudited:
		l.to.Info("listing again", "reason", u.Reason)
	}
}

// pause reports whether the only failure is that the server asks for a short pause.
func (s *State) pause() bool {
	if s.Phase != Failing && s.Phase != Stale {
		return false
	}
	why, _ := classify(s.Err)
	return why == busy && s.RetryAt.Sub(s.Since) <= shortPause
}

func (l *log) state(s *State) {
	if s.Episode != l.episode {
		l.episode, l.phases, l.paused = s.Episode, 0, false
	}
	if s.pause() {
		if !l.paused && l.phases == 0 {
			l.paused = true
			l.to.Info("the server asks for a pause", "phase", s.Phase.String(), "err", s.Err)
		}
		return
	}
	bit := uint(1) << s.Phase
	if s.Phase == Stopped || s.Phase == Listing || l.phases&bit != 0 || errors.Is(s.Err, errNotAsked) {
		return
	}
	if s.Phase == Synced && l.phases == 0 && !l.paused {
		return // nothing was wrong
	}
	l.phases |= bit
	if errors.Is(s.Err, ErrNoVersion) {
		l.to.Error("the kind cannot be watched, read it live", "err", s.Err)
		return
	}
	switch s.Phase {
	case Synced:
		l.to.Info("in sync again")
	case Forbidden:
		l.to.Error("not allowed, will ask again", "err", s.Err)
	case NotFound:
		l.to.Warn("not served, will ask again", "err", s.Err)
	case Unavailable:
		l.to.Error("kind is unavailable: what is held may be out of date, will ask again", "err", s.Err)
	case Failing, Stale:
		l.to.Warn("lost the server, will try again", "phase", s.Phase.String(), "err", s.Err)
	}
}
