package reflector

import (
	"context"
	"errors"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/wire"
)

var (
	errTimer  = errors.New("reflector: time is up")
	errClosed = errors.New("reflector: closed")
)

// session does what the Core says, one thing at a time, and says what came of it. At most one
// list or watch is open.
type session struct {
	r     *Reflector
	ctx   context.Context
	list  *wire.List
	watch *wire.Watch
	probe bool            // the open list is one
	open  context.Context // of what is open
	guard guard
	turn  *Turn // of the limiter; nil: none
}

// act is told the action and when it was decided.
func (s *session) act(now time.Time, a Action) Input {
	if a.Do != Read {
		s.r.sink.Settle()
		s.closeOpen()
	}
	if s.turn != nil && !s.r.core.Listing() {
		s.turn.Release()
		s.turn = nil
	}
	switch a.Do {
	case Read:
		s.guard.set(a.Until)
		s.turn.Progress()
		if s.watch != nil {
			return s.readWatch()
		}
		return s.readList()
	case Wait:
		if run.Sleep(s.ctx, a.Until.Sub(now)) != nil {
			return Input{Event: End, Err: context.Cause(s.ctx)}
		}
		return Input{Event: Timer}
	case Discover:
		return s.discover(a.Until.Sub(now))
	}
	if s.turn == nil && s.r.core.Listing() {
		var err error
		if s.turn, err = s.r.o.Limiter.Acquire(s.ctx); err != nil {
			return Input{Event: End, Err: err}
		}
	}
	if !a.Until.IsZero() {
		a.Until = time.Now().Add(a.Until.Sub(now)) // what the limiter took does not count
	}
	return s.start(a)
}

// discover asks the Source whether the kind is served.
func (s *session) discover(timeout time.Duration) Input {
	d, ok := s.r.src.(Discoverer)
	if !ok {
		return Input{Event: End, Err: errNoDiscovery}
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, timeout, ErrStalled)
	defer cancel()
	serving, err := d.Served(ctx)
	if err != nil {
		return Input{Event: End, Err: err}
	}
	return Input{Event: Discovered, Serving: serving}
}

// start opens a list or a watch.
func (s *session) start(a Action) Input {
	open, cancel := context.WithCancelCause(s.ctx)
	s.open = open
	s.guard = guard{cancel: cancel}
	s.guard.set(a.Until)
	var err error
	if a.Do == Watch {
		s.r.interruptible(cancel)
		s.watch, err = s.r.src.Watch(open, client.WatchQuery{
			ResourceVersion: a.Version, SendInitialEvents: a.Initial, Timeout: a.Timeout,
		})
	} else {
		q := client.ListQuery{ResourceVersion: a.Version, Limit: a.Limit, Continue: a.Continue}
		if a.Version != "" {
			q.Match = metav1.ResourceVersionMatchNotOlderThan
		}
		s.probe = a.Do == Probe
		s.list, err = s.r.src.List(open, q)
	}
	if err != nil {
		s.list, s.watch = nil, nil
		return s.ended(err)
	}
	if s.watch != nil {
		s.watch.BeforeRead(s.r.sink.Settle)
	} else {
		s.list.BeforeRead(s.r.sink.Settle)
	}
	return Input{Event: Opened}
}

func (s *session) readList() Input {
	for {
		raw, err := s.list.Next()
		switch {
		case err == nil && s.probe, s.probe && concernsOne(err):
			continue
		case err == nil:
			return Input{Event: Item, Entry: s.r.o.Intake(raw)}
		case err == io.EOF:
			m := s.list.Meta()
			return Input{Event: PageDone, Version: m.ResourceVersion, Continue: m.Continue}
		case concernsOne(err):
			return Input{Event: Item, Entry: aside(err)}
		}
		return s.ended(err)
	}
}

var events = [...]Event{wire.Added: Added, wire.Modified: Modified, wire.Deleted: Deleted}

func (s *session) readWatch() Input {
	f, err := s.watch.Next()
	switch {
	case err == io.EOF:
		return Input{Event: End}
	case concernsOne(err) && f.Type == wire.Bookmark:
		return Input{Event: Bookmark, Err: err}
	case concernsOne(err):
		in := Input{Event: Modified, Entry: aside(err)}
		if f.Type != 0 && int(f.Type) < len(events) {
			in.Event = events[f.Type]
		}
		return in
	case err != nil:
		return s.ended(err)
	}
	switch f.Type {
	case wire.Error:
		return Input{Event: End, Err: &apierrors.StatusError{ErrStatus: *f.Status}}
	case wire.Bookmark:
		return Input{Event: Bookmark, Version: f.ResourceVersion, InitialEnd: f.InitialEventsEnd}
	}
	var entry *store.Entry = s.r.o.Intake(f.Object)
	return Input{Event: events[f.Type], Entry: entry}
}

// ended tells a time that was up, and a list that was asked for, from a failure.
func (s *session) ended(err error) Input {
	switch context.Cause(s.open) {
	case errTimer:
		return Input{Event: Timer}
	case errRelist:
		if reason, ok := s.r.interrupted(); ok {
			return Input{Event: Relist, Reason: reason}
		}
	}
	return Input{Event: End, Err: err}
}

func concernsOne(err error) bool {
	_, ok := errors.AsType[*wire.DecodeError](err)
	return ok
}

// closeOpen closes what is open, if anything is.
func (s *session) closeOpen() {
	if s.open == nil {
		return
	}
	s.r.interruptible(nil)
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
	s.turn.Release()
}

// guard ends a context at a time that keeps being put off. It is exact at first; later, when it
// is put off with every frame, it may be up to a second late, to leave the timer alone.
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
		cancel := g.cancel // not g: another guard may stand there by the time the timer fires
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
