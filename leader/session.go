package leader

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/run"
)

// session is one call of Run: the loop around a Core. Only post may be called from other goroutines
// than the loop's.
type session struct {
	e    *Elector
	core *Core
	lead func(context.Context) error
	// inputs carries functions to the loop. The loop calls each with the time at which it receives
	// it.
	inputs chan func(Time)

	outer     context.Context         // of Run
	ctx       context.Context         // of requests, the watch and their posts; ends with the loop
	group     *run.Group              // goroutines under ctx
	work      *run.Group              // lead; nil until it is called
	cancel    context.CancelCauseFunc // ends lead's ctx
	result    error                   // error of lead
	published State
	failed    bool // the last request failed
}

// run returns when every goroutine of the session has ended.
func (s *session) run(ctx context.Context) {
	s.outer = ctx
	s.group, s.ctx = run.New(context.WithoutCancel(ctx))
	live, _ := s.e.c.(*client.Live)
	if live != nil {
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
	if s.core.Holder() == s.e.config.Identity && s.core.Lost() == nil && !s.e.config.KeepOnStop {
		s.e.logger.Warn("the lease was not released", "err", s.core.Err())
	}
}

func (s *session) time() Time { return Time{Mono: s.e.now(), Wall: time.Now()} }

// loop does what the core says until the core finishes.
func (s *session) loop(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := s.time()
		act := s.core.Next(now, rand.Float64())
		s.publish()
		switch act.Do {
		case Finish:
			return
		case Read, Create, Update:
			s.request(act, act.Until-now.Mono)
			continue
		}
		if s.core.Phase() == Lost && s.work == nil {
			s.core.Ended(s.time())
			continue
		}
		timer.Stop()
		if act.Until != Never {
			timer.Reset(act.Until - now.Mono)
		}
		select {
		case input := <-s.inputs:
			input(s.time())
		case <-timer.C:
		case <-stop:
			stop = nil
			s.core.Stop(s.time())
		}
	}
}

// post hands an input to the loop. It drops the input if the loop has ended.
func (s *session) post(input func(Time)) {
	select {
	case s.inputs <- input:
	case <-s.ctx.Done():
	}
}

// publish makes the state of the core known, in this order: the fence, the writes on their way, the
// hook, the work, the log. The log comes last because it may block.
func (s *session) publish() {
	lost := s.core.Lost()
	s.e.until.Store(int64(s.core.Until()))
	next := State{
		Leading: s.core.Phase() == Leading,
		Holder:  s.core.Holder(), Renewed: s.core.Renewed(), Err: s.core.Err(),
	}
	if lost != nil {
		next.Err = lost
	}
	s.e.mu.Lock()
	s.e.state, s.e.lost = next, lost
	s.e.mu.Unlock()
	old := s.published
	s.published = next
	if old.Leading && !next.Leading {
		s.e.cutWrites()
	}
	var broken error
	if s.e.hook != nil && (next.Leading != old.Leading || next.Holder != old.Holder) {
		broken = run.Safely("hook", func() error { s.e.hook(next); return nil })
	}
	switch {
	case next.Leading && s.work == nil:
		s.start()
	case lost != nil && s.cancel != nil:
		s.cancel(lost)
	}
	s.log(old, next, lost)
	if broken != nil {
		s.e.logger.Error("the hook failed", "err", broken)
	}
}

// log logs the differences between two states.
func (s *session) log(old, next State, lost *LostError) {
	log := s.e.logger
	switch {
	case next.Leading && !old.Leading:
		log.Info("leading")
	case old.Leading && lost != nil:
		log.Info("the lease is lost", "cause", lost)
	case next.Holder != old.Holder && next.Holder != "" && !next.Leading && !old.Leading:
		log.Info("another process holds the lease", "holder", next.Holder)
	case next.Holder != old.Holder && s.core.Phase() == Standby:
		log.Info("no process holds the lease", "before", old.Holder)
	}
	trouble := s.core.Err() != nil
	switch {
	case trouble && !s.failed:
		log.Warn("a problem with the lease", "err", s.core.Err())
	case !trouble && s.failed:
		log.Info("the problem with the lease is over")
	}
	s.failed = trouble
}

// start calls lead on a goroutine of its own.
func (s *session) start() {
	ctx, cancel := context.WithCancelCause(s.outer)
	s.cancel = cancel
	s.work, _ = run.New(s.outer)
	s.work.Go("", func(context.Context) error {
		err := run.ErrGoexit
		defer func() {
			s.post(func(now Time) {
				s.result = err
				s.core.Ended(now)
			})
		}()
		err = run.Safely("lead", func() error { return s.lead(ctx) })
		return nil
	})
}

// request performs the action on a goroutine of its own.
func (s *session) request(act Action, timeout time.Duration) {
	s.group.Go("", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		a := s.ask(ctx, act)
		s.post(func(now Time) { s.core.Answer(now, a) })
		return nil
	})
}

func (s *session) ask(ctx context.Context, act Action) Answer {
	var l *coordinationv1.Lease
	var err error
	switch act.Do {
	case Read:
		l, err = client.Get[coordinationv1.Lease](ctx, s.e.c, s.e.config.Lease)
	case Create:
		l, err = client.Create(ctx, s.e.c, act.Lease)
	case Update:
		l, err = client.Update(ctx, s.e.c, act.Lease)
	}
	_, absent := errors.AsType[*client.NotFoundError](err)
	_, exists := errors.AsType[*client.AlreadyExistsError](err)
	_, conflict := errors.AsType[*client.ConflictError](err)
	switch {
	case err == nil:
		return Answer{Result: OK, Lease: l}
	case absent && act.Do != Create:
		return Answer{Result: Absent}
	case exists || conflict:
		return Answer{Result: Conflict}
	}
	return Answer{Result: Failed, Err: err}
}
