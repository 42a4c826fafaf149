package reflector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/wire"
)

// Source is where one kind, or a selection of it, is listed and watched; a client.Feed is one.
// The ctx of a call is that of the list or watch it returns: when it ends, so does reading. It
// should not retry, since the Reflector does.
type Source interface {
	List(ctx context.Context, q client.ListQuery) (*wire.List, error)
	Watch(ctx context.Context, q client.WatchQuery) (*wire.Watch, error)
}

// Discoverer is a Source that can say whether its kind is served; a client.Feed is one. The answer
// must be fresh, and an error where nothing is certain; see client.Feed.Served. Without it a
// Reflector never takes a kind for gone, whatever the server answers.
type Discoverer interface {
	Served(ctx context.Context) (client.Serving, error)
}

// Options say how a Reflector works. The zero value works. They are read by New.
type Options struct {
	Config
	// Intake makes the entry of each object that comes in, once for each version. The bytes are lent
	// for the call. It must not return nil, and must not block. Nil: [Intake].
	Intake func(wire.Raw) *store.Entry
	// Limiter is shared among those who shall not list all at a time. Nil: no limit.
	Limiter *Limiter
	// OnState is told, from the goroutine of Run, when the phase or the error of the State has
	// changed. It must not block. Nil: nobody is told.
	OnState func(State)
	// Logger is where a person is told, once for each episode of failures. Nil: slog.Default().
	Logger *slog.Logger
	// Rand draws from [0, 1). Nil: math/rand/v2.
	Rand func() float64
}

// Intake makes an entry of an object, with a copy of its bytes. One whose header cannot be read is
// set aside, with as much of its key as could be learned; an object of another kind has no key here.
func Intake(raw wire.Raw) *store.Entry { return Own(raw.Clone()) }

// Own is Intake of bytes that are the entry's from then on.
func Own(raw wire.Raw) *store.Entry {
	e, err := store.NewEntry(raw)
	if err != nil {
		return aside(err)
	}
	return e
}

func aside(err error) *store.Entry {
	var key object.Key
	if d, ok := errors.AsType[*wire.DecodeError](err); ok && !foreign(err) {
		key = d.Key
	}
	return store.SetAside(object.Header{Key: key}, err)
}

// foreign reports whether an object said that it is of another kind; another version of the kind is
// none.
func foreign(err error) bool {
	k, ok := errors.AsType[*wire.KindError](err)
	return ok && (k.Got.Group != k.Want.Group || k.Got.Kind != "" && k.Got.Kind != k.Want.Kind)
}

// Reflector runs a Core on a Source and a Sink. It is run once.
type Reflector struct {
	src  Source
	sink Sink
	o    Options
	core *Core // belongs to Run
	told log   // belongs to Run
	ran  atomic.Bool

	mu        sync.Mutex
	state     State
	relist    Reason      // that Relist asked for; empty: none
	interrupt func(error) // ends the watch that is open
}

// New checks the options. It starts nothing.
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
	if o.Intake == nil {
		o.Intake = Intake
	}
	o.Logger = logguard.Logger(o.Logger)
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	r := &Reflector{src: src, sink: sink, o: o, core: NewCore(o.Config)}
	r.told = log{to: o.Logger.With("resource", o.Resource)}
	r.state = r.core.state
	return r, nil
}

func badOption(field, format string, args ...any) error {
	return &option.Error{Of: "reflector.Options", Field: field, Err: fmt.Errorf(format, args...)}
}

// State is where the Reflector stands. The sink has everything up to State.ResourceVersion.
func (r *Reflector) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.clone()
}

// Run lists and watches until ctx ends, and returns its cause. No failure of the server ends it.
// A second call is a run.ErrRunning.
func (r *Reflector) Run(ctx context.Context) error {
	if !r.ran.CompareAndSwap(false, true) {
		return fmt.Errorf("reflector of %s: %w, or has run before", r.o.Resource, run.ErrRunning)
	}
	s := &session{r: r, ctx: ctx}
	defer s.close()
	for in := (Input{Event: Start}); ; {
		if ctx.Err() != nil {
			in = Input{Event: Stop, Err: context.Cause(ctx)}
		}
		now := time.Now()
		next := r.step(now, in)
		if next.Do == Halt {
			return context.Cause(ctx)
		}
		in = s.act(now, next)
	}
}

// step asks the Core, and does the part of the answer that concerns the sink.
func (r *Reflector) step(now time.Time, in Input) Action {
	phase, err := r.core.state.Phase, r.core.state.Err
	out := r.core.Step(now, r.o.Rand(), in)
	for i := range out.Emit {
		out.Emit[i].To(r.sink)
	}
	r.mu.Lock()
	r.state = r.core.state
	r.mu.Unlock()
	for i := range out.Emit {
		if out.Emit[i].Op == Begin {
			r.told.list(&out.Emit[i])
		}
	}
	if r.core.state.Phase != phase || r.core.state.Err != err {
		r.told.state(&r.core.state)
		if r.o.OnState != nil {
			r.o.OnState(r.State())
		}
	}
	return out.Next
}

// shortPause is how long a server may be busy before that is worth a warning. It is for a moment
// whenever a resource definition changes, and so when a webhook's CA is written into one.
const shortPause = 10 * time.Second

// log tells each thing once for an episode of failures.
type log struct {
	to      *slog.Logger
	episode int
	phases  uint // those told of in this episode, as bits
	paused  bool // told that the server asks for a pause
}

func (l *log) list(e *Emission) {
	switch {
	case e.Reset:
		l.to.Warn("server went back in time, taking its content over anew")
	case e.Reason != First:
		l.to.Info("listing again", "reason", string(e.Reason))
	}
}

// pause reports whether nothing is wrong but that the server asks for a short pause.
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
