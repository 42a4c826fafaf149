package web

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/faults"
)

// Fault is a fault rule of a server. It is safe for concurrent use.
type Fault struct {
	server *Server
	id     int
	ended  chan struct{}
}

// Fail adds a rule. The error is that of [faults.Rule.Check].
func (s *Server) Fail(rule faults.Rule, effects []faults.Effect) (*Fault, error) {
	if err := rule.Check(effects); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed.Store(true)
	f := &Fault{server: s, id: s.faults.Add(rule, effects), ended: make(chan struct{})}
	s.holds[f.id] = f.ended
	return f, nil
}

// Unmatched returns the rules that have failed no request, in the form in which tests write them.
func (s *Server) Unmatched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.Unmatched()
}

// Count returns how many requests have gone wrong by the rule.
func (f *Fault) Count() int {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	return f.server.faults.Hits(f.id)
}

// Wait waits until n requests have gone wrong by the rule. The error is the cause of the end of ctx.
func (f *Fault) Wait(ctx context.Context, n int) error {
	s := f.server
	for {
		s.mu.Lock()
		hits, more := s.faults.Hits(f.id), s.hit
		s.mu.Unlock()
		if hits >= n {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// End ends the rule. Requests that it holds, and watches that it keeps silent, continue.
func (f *Fault) End() {
	s := f.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds[f.id] != nil {
		s.faults.End(f.id)
		close(f.ended)
		delete(s.holds, f.id)
	}
}

// held returns a channel that is closed when the rule ends.
func (s *Server) held(rule int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ch := s.holds[rule]; ch != nil {
		return ch
	}
	ended := make(chan struct{})
	close(ended)
	return ended
}

// Advance moves the clock of the server by d, which may be negative.
func (s *Server) Advance(d time.Duration) {
	s.offset.Add(int64(d))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake() // controllers look at the clock
}

// time returns the time by the clock of the server.
func (s *Server) time() time.Time { return s.opts.Now().Add(time.Duration(s.offset.Load())) }

// plan returns the plan for a request, and counts the request.
func (s *Server) plan(req core.Request) faults.Plan {
	if !s.failed.Load() {
		return faults.Plan{CutAt: -1}
	}
	return s.decide(described(req))
}

func (s *Server) decide(q faults.Request) faults.Plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.faults.Decide(q)
	if len(p.Rules) > 0 {
		close(s.hit)
		s.hit = make(chan struct{})
	}
	return p
}

// described returns the parts of a request that rules match.
func described(req core.Request) faults.Request {
	t := req.Target()
	path, query, _ := strings.Cut(req.URL, "?")
	params, err := url.ParseQuery(query)
	if err != nil {
		params = nil // Kubernetes refuses the request
	}
	q := faults.Request{
		Group: t.Group, Resource: t.Resource, Subresource: t.Subresource, Namespace: t.Namespace, Name: t.Name,
		Path: path, Params: params, UserAgent: req.UserAgent, User: req.User,
	}
	if q.Name == "" {
		if selector, err := fields.ParseSelector(params.Get("fieldSelector")); err == nil {
			q.Name, _ = selector.RequiresExactMatch("metadata.name")
		}
	}
	one := q.Name != "" && strings.HasSuffix(path, "/"+q.Name+strings.TrimSuffix("/"+q.Subresource, "/"))
	switch watch := params.Get("watch"); {
	case req.Method == http.MethodPost:
		q.Verb = "create"
	case req.Method == http.MethodPut:
		q.Verb = "update"
	case req.Applies():
		q.Verb = "apply"
	case req.Method == http.MethodPatch:
		q.Verb = "patch"
	case req.Method == http.MethodDelete && one:
		q.Verb = "delete"
	case req.Method == http.MethodDelete:
		q.Verb = "deletecollection"
	case watch != "" && watch != "0" && watch != "false":
		q.Verb = "watch"
	case one || q.Resource == "":
		q.Verb = "get"
	default:
		q.Verb = "list"
	}
	return q
}

// abort cuts the connection of a request, whatever was sent of the answer.
func abort() { panic(http.ErrAbortHandler) }

// answer answers a request by its plan. It calls ask to ask the state.
func (s *Server) answer(ctx context.Context, req core.Request, p faults.Plan, ask func(core.Request) core.Answer) core.Answer {
	s.busy.Add(1)
	defer s.busy.Add(-1)
	if len(p.Rules) > 0 {
		p.Delay = max(p.Delay, s.opts.FaultTime)
	}
	s.pause(ctx, p, nil)
	if p.Restart {
		s.Restart()
		abort()
	}
	if p.Late {
		ctx = context.WithoutCancel(ctx)
	}
	if p.Refuse {
		abort()
	}
	if p.Status != nil {
		return req.Refuse(p.Status)
	}
	if a := p.Answer; a != nil {
		return core.Answer{Code: a.Code, ContentType: a.ContentType, Body: []byte(a.Body)}
	}
	if len(p.Ignore) > 0 {
		req.URL = without(req.URL, p.Ignore)
	}
	var answer core.Answer
	if p.Stale > 0 {
		view, _, _ := s.now()
		if refused := view.Authorize(s.time(), req); refused != nil {
			return *refused
		}
		answer = s.do(ctx, req, func(r core.Request) core.Answer { return view.Before(p.Stale).Read(s.time(), r) })
	} else {
		answer = s.do(ctx, req, ask)
	}
	if len(p.Rewrite) > 0 {
		answer.Body = bytes.Clone(answer.Body)
	}
	for _, change := range p.Rewrite {
		answer.Body = change(answer.Body)
	}
	if p.Lose {
		abort()
	}
	return answer
}

// pause waits as a plan says: for its delay, and for the end of the rule that holds it. It reports false if over was
// closed before. It cuts the connection if the client goes or the server is closed.
func (s *Server) pause(ctx context.Context, p faults.Plan, over <-chan struct{}) bool {
	if p.Hang == 0 && p.Delay <= 0 {
		return true
	}
	var held <-chan struct{}
	if p.Hang != 0 {
		held = s.held(p.Hang)
	}
	gone, closed := ctx.Done(), s.closed
	if p.Late {
		gone = nil
	}
	if over != nil {
		closed = nil // over is closed, too
	}
	var passed <-chan time.Time
	if p.Delay > 0 {
		timer := time.NewTimer(p.Delay)
		defer timer.Stop()
		passed = timer.C
	}
	for held != nil || passed != nil {
		select {
		case <-held:
			held = nil
		case <-passed:
			passed = nil
		case <-gone:
			abort()
		case <-closed:
			abort()
		case <-over:
			return false
		}
	}
	return true
}

// ended reports whether a rule has ended.
func (s *Server) ended(rule int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds[rule] == nil
}

// without returns a URL without the parameters params.
func without(target string, params []string) string {
	path, query, _ := strings.Cut(target, "?")
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if !slices.Contains(params, name) && part != "" {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return path
	}
	return path + "?" + strings.Join(kept, "&")
}
