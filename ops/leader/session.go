package leader

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/run"
)

// session is one call of Run: the loop around a core. Only post may be called from other goroutines
// than the loop's.
type session struct {
	e      *Elector
	core   *core
	lead   func(context.Context) error
	inputs chan input

	outer     context.Context         // of Run
	ctx       context.Context         // of requests, the watch and their posts; ends with the loop
	group     *run.Group              // goroutines under ctx
	work      *run.Group              // lead; nil until it is called
	cancel    context.CancelCauseFunc // ends lead's ctx
	result    error                   // error of lead
	published Leadership
	failed    bool // the last request failed
}

// run returns when every goroutine of the session has ended.
func (s *session) run(ctx context.Context) {
	s.outer = ctx
	s.group, s.ctx = run.New(context.WithoutCancel(ctx))
	if live, ok := s.e.c.(*client.Live); ok {
		s.group.Go("", func(ctx context.Context) error {
			s.watch(ctx, live)
			return nil
		})
	}
	s.loop(ctx.Done())
	s.e.until.Store(0)
	s.group.Stop(nil)
	s.group.Wait()
	if s.work == nil {
		return
	}
	s.work.Wait()
	s.cancel(nil)
	if s.core.rec.holder == s.core.o.Identity && s.core.lost == nil && !s.core.o.KeepOnStop {
		s.e.o.Logger.Warn("the lease was not released", "err", s.core.problem())
	}
}

// loop does what the core says until the core finishes.
func (s *session) loop(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for in := (input{}); ; {
		now := s.e.now()
		in.wall = time.Now()
		out := s.core.Step(now, in)
		s.publish()
		in = input{}
		switch {
		case out.do == finish:
			return
		case out.do != wait:
			s.request(out, out.deadline.Sub(now))
		case s.core.phase == lost && s.work == nil:
			in.event = ended
			continue
		}
		timer.Stop()
		if !out.until.IsZero() {
			timer.Reset(out.until.Sub(now))
		}
		select {
		case in = <-s.inputs:
			if in.event == ended {
				s.result = in.err
			}
		case <-timer.C:
		case <-stop:
			stop = nil
			in.event = stopped
		}
	}
}

// post hands an input to the loop. It drops the input if the loop has ended.
func (s *session) post(in input) {
	select {
	case s.inputs <- in:
	case <-s.ctx.Done():
	}
}

// publish makes the state of the core known, in this order: the fence, the writes on their way, the
// hook, the work, the log. The log comes last because it may block.
func (s *session) publish() {
	old, next, lost := s.published, s.core.state(), s.core.lost
	s.published = next
	s.e.until.Store(s.core.termEnd())
	s.e.mu.Lock()
	s.e.state, s.e.lost = next, lost
	s.e.mu.Unlock()
	if old.Leading && !next.Leading {
		s.e.cutWrites()
	}
	var broken error
	if s.e.o.Hook != nil && (next.Leading != old.Leading || next.Holder != old.Holder) {
		broken = run.Safely("hook", func() error { s.e.o.Hook(next); return nil })
	}
	switch {
	case next.Leading && s.work == nil:
		s.start()
	case lost != nil && s.cancel != nil:
		s.cancel(lost)
	}
	s.log(old, next)
	if broken != nil {
		s.e.o.Logger.Error("the hook failed", "err", broken)
	}
}

// log logs the differences between two states.
func (s *session) log(old, next Leadership) {
	log := s.e.o.Logger
	switch {
	case next.Leading && !old.Leading:
		log.Info("leading")
	case old.Leading && s.core.lost != nil:
		log.Info("the lease is lost", "cause", s.core.lost)
	case next.Holder != old.Holder && next.Holder != "" && !next.Leading && !old.Leading:
		log.Info("another process holds the lease", "holder", next.Holder)
	case next.Holder != old.Holder && s.core.phase == standby:
		log.Info("no process holds the lease", "before", old.Holder)
	}
	problem := s.core.problem()
	switch {
	case problem != nil && !s.failed:
		log.Warn("a problem with the lease", "err", problem)
	case problem == nil && s.failed:
		log.Info("the problem with the lease is over")
	}
	s.failed = problem != nil
}

// start calls lead on a goroutine of its own.
func (s *session) start() {
	ctx, cancel := context.WithCancelCause(s.outer)
	s.cancel = cancel
	s.work, _ = run.New(s.outer)
	s.work.Go("", func(context.Context) error {
		err := run.ErrGoexit
		defer func() { s.post(input{event: ended, err: err}) }()
		err = run.Safely("lead", func() error { return s.lead(ctx) })
		return nil
	})
}

// request performs a request on a goroutine of its own.
func (s *session) request(out output, timeout time.Duration) {
	s.group.Go("", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		s.post(s.ask(ctx, out))
		return nil
	})
}

func (s *session) ask(ctx context.Context, out output) input {
	var l *coordinationv1.Lease
	var err error
	switch out.do {
	case read:
		l, err = client.Get[coordinationv1.Lease](ctx, s.e.c, s.core.o.key())
	case create:
		l, err = client.Create(ctx, s.e.c, out.lease)
	case update:
		l, err = client.Update(ctx, s.e.c, out.lease)
	}
	_, missing := errors.AsType[*client.NotFoundError](err)
	_, exists := errors.AsType[*client.AlreadyExistsError](err)
	_, changed := errors.AsType[*client.ConflictError](err)
	in := input{event: answered, lease: l, err: err}
	switch {
	case err == nil:
	case missing && out.do != create:
		in.result = absent
	case exists || changed:
		in.result = conflict
	default:
		in.result = failed
	}
	return in
}
