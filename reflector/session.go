package reflector

import (
	"context"
	"errors"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/ctxkey"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/run"
)

var (
	errTimer  = errors.New("reflector: time is up")
	errClosed = errors.New("reflector: closed")
)

// session executes the actions of the core, one at a time, and returns their results as inputs. At most
// one list or watch is open.
type session struct {
	r      *Reflector
	ctx    context.Context
	list   *wire.List
	watch  *wire.Watch
	probe  bool            // the open list is a probe
	open   context.Context // of the open list or watch; nil: none is open
	guard  guard
	permit *Permit // nil: no list counts for the limiter
}

// act closes the open list or watch, and executes an action. now is the time of the Step that returned it.
func (s *session) act(now time.Time, a action) input {
	s.closeOpen()
	listing := s.r.core.Listing()
	if !listing {
		s.releasePermit()
	}
	switch a.do {
	case doWait:
		if run.Sleep(s.ctx, a.until.Sub(now)) != nil {
			return input{event: ended, err: context.Cause(s.ctx)}
		}
		return input{event: timedOut}
	case doDiscover:
		return s.discover(a.until.Sub(now), a.prove)
	}
	if s.permit == nil && listing {
		if turn := ctxkey.Turn(s.ctx); turn != nil {
			turn(s.ctx)
		}
		var err error
		if s.permit, err = s.r.o.Limiter.Acquire(s.ctx); err != nil {
			return input{event: ended, err: err}
		}
	}
	if !a.until.IsZero() {
		a.until = time.Now().Add(a.until.Sub(now)) // the limiter's wait does not count
	}
	return s.start(a)
}

func (s *session) releasePermit() {
	s.permit.Release()
	s.permit = nil
}

// discover asks the Source whether the kind is served. It asks for the proof that the kind is gone before, if
// the sink has content, and else if the kind seems to be back.
func (s *session) discover(timeout time.Duration, prove bool) input {
	d, ok := s.r.src.(discoverer)
	if !ok {
		return input{event: ended, err: errNoDiscovery}
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, timeout, ErrStalled)
	defer cancel()
	var answer MissingError
	if prove {
		answer.Gone, answer.Unproven = d.Gone(ctx)
	}
	var err error
	answer.Here, answer.Elsewhere, err = d.Served(ctx)
	if !prove && err == nil && answer.served() {
		answer.Gone, answer.Unproven = d.Gone(ctx)
	}
	if err != nil && !answer.Gone {
		return input{event: ended, err: err}
	}
	return input{event: discovered, answer: answer}
}

// start opens a list or a watch.
func (s *session) start(a action) input {
	open, cancel := context.WithCancelCause(s.ctx)
	s.open = open
	s.guard = guard{cancel: cancel}
	s.guard.set(a.until)
	var err error
	if a.do == doWatch {
		s.watch, err = s.r.src.Watch(open, wire.WatchQuery{
			ResourceVersion: a.version, SendInitialEvents: a.initial, Timeout: a.timeout,
		})
	} else {
		q := wire.ListQuery{ResourceVersion: a.version, Limit: a.limit, Continue: a.cont}
		if a.version != "" {
			q.Match = metav1.ResourceVersionMatchNotOlderThan
			if a.exact {
				q.Match = metav1.ResourceVersionMatchExact
			}
		}
		s.probe = a.do == doProbe
		s.list, err = s.r.src.List(open, q)
	}
	if err != nil {
		s.list, s.watch = nil, nil
		return s.ended(err)
	}
	return input{event: opened}
}

// readUntil sets the deadline of the next read.
func (s *session) readUntil(until time.Time) {
	if s.permit != nil && !s.r.core.Listing() {
		s.releasePermit()
	}
	s.guard.set(until)
	s.permit.Progress()
}

// take returns the next complete object, frame or page; false if there is none. It reads nothing.
func (s *session) take() (input, bool) {
	if s.watch != nil {
		return s.takeFrame()
	}
	return s.takeItem()
}

// fill reads once from the open list or watch.
func (s *session) fill() {
	if s.watch != nil {
		s.watch.Fill()
	} else {
		s.list.Fill()
	}
}

func (s *session) takeItem() (input, bool) {
	for {
		raw, err := s.list.Take()
		switch {
		case err == wire.ErrIncomplete:
			return input{}, false
		case err == nil && s.probe, s.probe && wire.IsObjectError(err):
			continue
		case err == nil:
			return input{event: itemCame, entry: newEntry(s.r.copy(raw))}, true
		case err == io.EOF:
			m := s.list.Meta()
			return input{event: pageCame, version: m.ResourceVersion, cont: m.Continue}, true
		case wire.IsObjectError(err):
			return input{event: itemCame, entry: rejected(err)}, true
		}
		return s.ended(err), true
	}
}

func (s *session) takeFrame() (input, bool) {
	f, err := s.watch.Take()
	switch {
	case err == wire.ErrIncomplete:
		return input{}, false
	case err == io.EOF:
		return input{event: ended}, true
	case wire.IsObjectError(err) && f.Type == wire.Bookmark:
		return input{event: frameCame, what: wire.Bookmark, err: err}, true
	case wire.IsObjectError(err):
		return input{event: frameCame, what: f.Type, entry: rejected(err)}, true
	case err != nil:
		return s.ended(err), true
	}
	switch f.Type {
	case wire.Error:
		return input{event: ended, err: &apierrors.StatusError{ErrStatus: *f.Status}}, true
	case wire.Bookmark:
		return input{event: frameCame, what: f.Type, version: f.ResourceVersion, initialEnd: f.InitialEventsEnd}, true
	}
	return input{event: frameCame, what: f.Type, entry: newEntry(s.r.copy(f.Object))}, true
}

// ended returns the input for the end of a list or watch: a deadline or a failure.
func (s *session) ended(err error) input {
	if context.Cause(s.open) == errTimer {
		return input{event: timedOut}
	}
	return input{event: ended, err: err}
}

// closeOpen closes the open list or watch, if there is one.
func (s *session) closeOpen() {
	if s.open == nil {
		return
	}
	s.guard.stop()
	if s.list != nil {
		s.list.Close()
	}
	if s.watch != nil {
		s.watch.Close()
	}
	s.list, s.watch, s.open, s.probe = nil, nil, nil, false
}

func (s *session) close() {
	s.closeOpen()
	s.permit.Release()
}

// guard cancels a context at a deadline that each frame moves. The first deadline is exact. Later ones may be
// up to guardSlack late: so most frames need not reset the timer.
type guard struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	at     time.Time // when the timer fires
}

const guardSlack = time.Second

func (g *guard) set(until time.Time) {
	switch {
	case until.IsZero():
		if g.timer != nil {
			g.timer.Stop()
			g.at = time.Time{}
		}
	case g.timer == nil:
		g.at = until
		cancel := g.cancel // g itself may hold the next guard when the timer fires
		g.timer = time.AfterFunc(time.Until(until), func() { cancel(errTimer) })
	case g.at.Before(until):
		g.at = until.Add(guardSlack)
		g.timer.Reset(time.Until(g.at))
	case g.at.Sub(until) > guardSlack:
		g.at = until
		g.timer.Reset(time.Until(until))
	}
}

func (g *guard) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
	g.cancel(errClosed)
}
