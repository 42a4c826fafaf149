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
	set     *control.Set
	done    chan struct{} // closed when the loop has ended
	version uint64        // the newest version at which they had nothing left to do; s.mu guards it
	rested  chan struct{} // closed when version changes; s.mu guards it
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
		if view, _, _ := s.now(); !s.round(set, view) {
			c := &controllers{set: set, done: make(chan struct{}), rested: make(chan struct{})}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.controllers = c
			c.version = view.Version()
			go s.control(c)
			return nil
		}
	}
	return errRestless
}

// round steps the controllers once and makes their requests. It reports whether they made any.
func (s *Server) round(set *control.Set, view core.View) bool {
	requests, _ := set.Step(s.time(), view)
	return s.perform(set, requests)
}

// perform makes requests of controllers. It reports whether it made any.
func (s *Server) perform(set *control.Set, requests []control.Request) bool {
	for _, r := range requests {
		if s.isClosed() {
			return false
		}
		if !set.Void(r) {
			set.Answer(s.time(), r, s.controllerStep(r.Request))
		}
	}
	return len(requests) > 0
}

func (s *Server) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// control steps controllers when something has changed or is due, until the server is closed.
func (s *Server) control(c *controllers) {
	defer close(c.done)
	var last context.Context
	for !s.isClosed() {
		view, moved, epoch := s.now()
		if last != nil && epoch != last { // the state was restored, or the server restarted
			c.set.Reset()
		}
		last = epoch
		requests, due := c.set.Step(s.time(), view)
		if s.perform(c.set, requests) {
			continue
		}
		s.rest(c, view.Version())
		var timer *time.Timer
		var passed <-chan time.Time
		if !due.IsZero() {
			timer = time.NewTimer(due.Sub(s.time()))
			passed = timer.C
		}
		select {
		case <-moved:
		case <-passed:
		case <-epoch.Done():
		case <-s.closed:
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// rest notes that the controllers have nothing left to do at a version.
func (s *Server) rest(c *controllers, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.version = version
	close(c.rested)
	c.rested = make(chan struct{})
}

// Settle waits until the controllers have nothing left to do now. Work for a later time does not count. Without
// controllers it returns at once. The error is the cause of the end of ctx, or that the server was closed.
func (s *Server) Settle(ctx context.Context) error {
	for {
		s.mu.Lock()
		c := s.controllers
		settled := c == nil || c.version == s.state.Version()
		var rested chan struct{}
		if !settled {
			rested = c.rested
		}
		s.mu.Unlock()
		if settled {
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

// controllerStep answers a request of a controller. If a fault loses the answer, its code is zero. It does not wait for
// webhooks longer than the server is open.
func (s *Server) controllerStep(req core.Request) (answer core.Answer) {
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
	answer = s.answer(s.life, req, plan)
	if plan.CutAt >= 0 {
		return core.Answer{}
	}
	return answer
}
