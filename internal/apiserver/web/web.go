// Package web serves a state of package core over HTTP, as an API server does.
//
//	request ──▶ Server ── lock: Step ──▶ core.State        a change wakes all watches
//	                   ── no lock: Read ──▶ core.View            │
//	watch   ◀── frames ── Poll, Encode ◀──────────────────────────┘
package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/faults"
)

// Options configures a Server.
type Options struct {
	// Now returns the time. nil means time.Now.
	Now func() time.Time
	// Bookmarks is the time between two bookmarks of a watch. Zero means a minute.
	Bookmarks time.Duration
	// Log receives errors of the server itself. nil means no output.
	Log *slog.Logger
	// Latency is how long an answer to a client waits after its effect.
	Latency time.Duration
	// FaultTime is the least time that a request takes that matches a fault rule.
	FaultTime time.Duration
	// DialWebhook connects to webhooks. nil means the network.
	DialWebhook func(ctx context.Context, network, address string) (net.Conn, error)
}

// Server is a handler of the Kubernetes API. It is safe for concurrent use.
type Server struct {
	opts Options

	nobody atomic.Pointer[core.View] // identifies requests without credentials, and is cheaper than a view of all objects

	mu    sync.Mutex
	state *core.State
	view  *core.View    // a view of the present state; nil after a change
	moved chan struct{} // closed after the next change; nil if nobody waits for that
	// epoch ends when the state is restored, or the server restarts or is closed. Watches end with it, and requests of
	// controllers. It ends while mu is held.
	epoch    context.Context
	endEpoch context.CancelCauseFunc

	faults faults.Set
	failed atomic.Bool           // whether there was ever a fault rule
	holds  map[int]chan struct{} // closed at the end of a rule, by its number
	hit    chan struct{}         // closed when the next request goes wrong
	conns  conns

	hooks  *hooks
	offset atomic.Int64 // of the clock, in nanoseconds
	busy   atomic.Int64 // counts the requests that are being answered
	closed chan struct{}

	controllers *controllers // nil if there are none
}

// New returns a server of a state. The caller must not use the state afterwards.
func New(state *core.State, o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Bookmarks <= 0 {
		o.Bookmarks = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		opts: o, state: state, holds: map[int]chan struct{}{}, hit: make(chan struct{}),
		closed: make(chan struct{}), hooks: newHooks(o.DialWebhook),
	}
	s.setNobody()
	s.newEpoch()
	return s
}

// setNobody sets the view that identifies requests without credentials.
func (s *Server) setNobody() {
	v := s.state.Nobody()
	s.nobody.Store(&v)
}

func (s *Server) newEpoch() {
	s.epoch, s.endEpoch = context.WithCancelCause(context.Background())
}

var (
	errRestored  = errors.New("the state was restored")
	errRestarted = errors.New("the server was restarted")
	errClosed    = errors.New("the server is closed")
)

// Close ends all watches, and stops the controllers. It does not wait for handlers, which return soon after.
func (s *Server) Close() {
	s.close()
	if s.controllers != nil {
		<-s.controllers.done
	}
}

func (s *Server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
	default:
		s.endEpoch(errClosed)
		close(s.closed)
		s.hooks.close()
	}
}

// Busy reports whether a request is being answered. Otherwise those that are open wait for their clients, which have yet
// to send a body or to read an answer.
func (s *Server) Busy() bool { return s.busy.Load() > 0 }

// Step answers one request. If the answer has a watch, the caller polls it.
func (s *Server) Step(req core.Request) core.Answer { return s.do(context.Background(), req, s.ask) }

// ask asks the state once. The answer may be pending.
func (s *Server) ask(req core.Request) core.Answer {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		view, _, _ := s.now()
		return view.Read(s.time(), req)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.step(req)
}

// step answers a request by the state. The caller holds the lock.
func (s *Server) step(req core.Request) core.Answer {
	before := s.state.Version()
	answer := s.state.Step(s.time(), req)
	if s.state.Version() != before {
		s.wake()
	}
	return answer
}

// now returns a view of the present state, a channel that is closed after the next change, and the epoch.
func (s *Server) now() (core.View, <-chan struct{}, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view == nil {
		v := s.state.Now()
		s.view = &v
	}
	if s.moved == nil {
		s.moved = make(chan struct{})
	}
	return *s.view, s.moved, s.epoch
}

// wake wakes watches and controllers after a change. The caller holds the lock.
func (s *Server) wake() {
	s.view = nil
	if s.moved != nil {
		close(s.moved)
		s.moved = nil
	}
}

// Snapshot returns a snapshot of the present state.
func (s *Server) Snapshot() *core.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Snapshot()
}

// Restore returns to a snapshot, and cuts all watches.
func (s *Server) Restore(snap *core.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Restore(snap)
	s.setNobody()
	s.endEpoch(errRestored)
	s.newEpoch()
	s.wake()
}

// Compact drops the history: clients that ask for older versions get 410.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Compact()
	s.wake()
}

// maxBody is one byte above the limit of a body. Longer bodies are cut there, and rules refuse them.
const maxBody = 3*1024*1024 + 1

// bodyOf reads the body of a request.
func bodyOf(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if n := r.ContentLength; n > 0 && n < maxBody {
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	return io.ReadAll(io.LimitReader(r.Body, maxBody))
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := bodyOf(r)
	if err != nil {
		abort() // the client has gone, or the server is being closed: to return would be an answer, 200
	}
	header := w.Header()
	req, refused := s.identify(r, body, header)
	if refused != nil {
		Head(header, *refused)
		w.WriteHeader(refused.Code)
		_, _ = w.Write(refused.Body) // a client that has gone needs no answer
		return
	}
	plan := s.plan(req)
	answer := s.answer(r.Context(), req, plan, s.ask)
	s.pause(r.Context(), faults.Plan{Delay: s.opts.Latency}, nil)
	Head(header, answer)
	if answer.Watch != nil {
		s.stream(w, r, answer.Watch, plan.Stream())
		return
	}
	w.WriteHeader(answer.Code)
	if plan.CutAt >= 0 {
		writeUntil(w, answer.Body, plan.CutAt)
	}
	if shares, ok := w.(Sharer); ok && len(plan.Rewrite) == 0 { // a rule may do with its bytes what it likes
		_, _ = shares.WriteShared(answer.Body)
		return
	}
	_, _ = w.Write(answer.Body) // a client that has gone needs no answer
}

// identify returns the request of a client, with its user. If the credentials are not valid, refused is the answer. It
// sets what the header of every answer has.
func (s *Server) identify(r *http.Request, body []byte, header http.Header) (req core.Request, refused *core.Answer) {
	header["Cache-Control"] = []string{"no-cache, private"}
	shown := credentials(r)
	if core.SpaceBeforeToken(shown.Authorization) {
		header.Add("Warning", `299 - `+quoted("the provided Authorization header contains extra space before the bearer token, and is ignored"))
	}
	view, now := s.nobody.Load(), time.Time{}
	if !shown.None() {
		present, _, _ := s.now()
		view, now = &present, s.time()
	}
	req, refused = view.Identify(now, core.Request{
		Method: r.Method, URL: r.URL.RequestURI(), ContentType: r.Header.Get("Content-Type"), Accept: r.Header.Get("Accept"),
		UserAgent: r.UserAgent(), Body: body,
	}, shown)
	if refused != nil && refused.Code != http.StatusUnauthorized {
		refused.Header = map[string]string{"X-Content-Type-Options": "nosniff"}
	}
	return req, refused
}

// Head sets the header of an answer.
func Head(header http.Header, answer core.Answer) {
	for name, value := range answer.Header {
		header.Set(name, value)
	}
	for _, text := range answer.Warnings {
		header.Add("Warning", `299 - `+quoted(text))
	}
	if answer.Watch != nil {
		return
	}
	if answer.ContentType != "" {
		header["Content-Type"] = []string{answer.ContentType}
	}
	if answer.RetryAfter != "" {
		header.Set("Retry-After", answer.RetryAfter)
	}
}

// quoted returns a text as a quoted string of a header.
func quoted(text string) string {
	out := []byte{'"'}
	for i := range len(text) {
		if c := text[i]; c == '"' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, text[i])
	}
	return string(append(out, '"'))
}

// defaultWatch is how long a watch lasts without timeoutSeconds.
const defaultWatch = 45 * time.Minute

// stream sends the events of a watch until its time is over, the client has gone, or the watch has failed.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, watch *core.Watch, broken *faults.Stream) {
	_, _, epoch := s.now()
	length := watch.Timeout
	if length <= 0 {
		length = defaultWatch
	}
	end := time.NewTimer(length)
	defer end.Stop()
	bookmark := time.NewTicker(s.opts.Bookmarks)
	defer bookmark.Stop()
	f := newFrames(w, watch.Protobuf(), broken, epoch.Done())
	f.start()
	if view, _, _ := s.now(); watch.Void(view) || !s.then(r.Context(), f, watch, view) {
		return
	}
	for due := false; ; {
		view, moved, now := s.now()
		if now != epoch || watch.Void(view) {
			return // restored
		}
		events, err := s.poll(r.Context(), watch, view)
		if err != nil {
			s.opts.Log.Warn("A watch ends", "err", err)
			return
		}
		if due && watch.Bookmarks {
			events = append(events, core.Event{Type: core.Bookmark, Version: view.Version()})
		}
		due = false
		for i, e := range events {
			if i > 0 && f.late(end.C) {
				return
			}
			if !s.event(r.Context(), f, watch, view, e) {
				_ = f.flush.Flush() // a client that has gone needs no answer
				return
			}
		}
		if f.flush.Flush() != nil || watch.Over(view) {
			return
		}
		select {
		case <-moved:
		case <-bookmark.C:
			due = true
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		case <-epoch.Done():
			return
		}
	}
}
