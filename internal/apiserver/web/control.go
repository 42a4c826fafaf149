package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// controllers is the loop that steps the controllers of a server.
type controllers struct {
	set  *control.Set
	done chan struct{} // closed when the loop has ended

	// The lock of the server guards these. still is the channel of [Server.now] when they last had nothing left to do: as
	// long as the server still has it, nothing has changed since. due is when there is work again; zero means never.
	still  <-chan struct{}
	due    time.Time
	rested chan struct{} // closed when still changes
}

// maxRounds bounds the rounds in which new controllers come to rest.
const maxRounds = 1000

var errRestless = errors.New("the controllers do not come to rest")

// Control starts a goroutine that steps controllers until the server is closed. It returns when they have come to rest.
// Call it at most once.
//
// A fault rule matches requests of controllers only if it names a user or a user agent.
func (s *Server) Control(set *control.Set) error {
	view, _, _ := s.now()
	for _, r := range set.Boot(view) {
		if a := s.Step(r); control.Failed(r, a) {
			return fmt.Errorf("%s %s for the controllers: answered %d: %s", r.Method, r.URL, a.Code, a.Body)
		}
	}
	for range maxRounds {
		view, _, epoch := s.now()
		requests, _ := set.Step(s.time(), view)
		if s.perform(epoch, set, requests); len(requests) == 0 {
			c := &controllers{set: set, done: make(chan struct{}), rested: make(chan struct{})}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.controllers = c
			go s.control(c, epoch)
			return nil
		}
	}
	return errRestless
}

// perform makes requests of controllers, until the epoch ends in which they have looked at the state. In another state
// the requests would make no sense.
func (s *Server) perform(epoch context.Context, set *control.Set, requests []control.Request) {
	for _, r := range requests {
		if epoch.Err() != nil {
			return
		}
		if !set.Void(r) {
			set.Answer(s.time(), r, s.controllerStep(epoch, r.Request))
		}
	}
}

// control steps controllers when something has changed or is due, until the server is closed. last is the epoch of their
// last step.
func (s *Server) control(c *controllers, last context.Context) {
	defer close(c.done)
	for {
		select {
		case <-s.closed:
			return
		default:
		}
		// The epoch may have ended when this returns; the next round has the new one.
		view, moved, epoch := s.now()
		if epoch != last { // the state was restored, or the server restarted
			c.set.Reset()
		}
		last = epoch
		requests, due := c.set.Step(s.time(), view)
		if len(requests) > 0 {
			s.perform(epoch, c.set, requests)
			continue
		}
		s.rest(c, moved, due)
		var passed <-chan time.Time
		if !due.IsZero() {
			passed = time.After(due.Sub(s.time()))
		}
		select {
		case <-moved:
		case <-passed:
		case <-epoch.Done():
		}
	}
}

// rest notes that the controllers have nothing left to do until something changes, or something is due.
func (s *Server) rest(c *controllers, still <-chan struct{}, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.still, c.due = still, due
	close(c.rested)
	c.rested = make(chan struct{})
}

// Settle waits until the controllers have nothing left to do now. Work for a later time does not count. Without
// controllers it returns at once. The error is the cause of the end of ctx, or that the server was closed.
func (s *Server) Settle(ctx context.Context) error {
	for {
		rested := s.unrest(s.time())
		if rested == nil {
			return nil
		}
		select {
		case <-rested:
		case <-s.closed:
			return errClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Due is the earliest time when a controller acts without a change; zero: never.
func (s *Server) Due() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.controllers == nil {
		return time.Time{}
	}
	return s.controllers.due
}

// unrest returns a channel that is closed when the controllers come to rest again; nil if they have nothing left to do.
// It wakes them if something is due: the clock may have been moved.
func (s *Server) unrest(now time.Time) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.controllers
	switch {
	case c == nil:
		return nil
	case s.moved == nil || c.still != s.moved:
	case c.due.IsZero() || now.Before(c.due):
		return nil
	default:
		s.wake()
	}
	return c.rested
}

// controllerStep answers a request of a controller. If a fault loses the answer, its code is zero; so it is after the
// end of the epoch, when the request changes nothing.
func (s *Server) controllerStep(epoch context.Context, req core.Request) (answer core.Answer) {
	q := described(req)
	q.Controller = true
	plan := s.decide(q)
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			answer = core.Answer{}
		} else if p != nil {
			panic(p)
		}
	}()
	answer = s.answer(epoch, req, plan, func(req core.Request) core.Answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		if epoch.Err() != nil {
			abort()
		}
		return s.step(req)
	})
	if plan.CutAt >= 0 {
		return core.Answer{}
	}
	return answer
}
