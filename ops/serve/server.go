package serve

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
)

// Server serves one handler on one address. All methods are safe for concurrent use.
type Server struct {
	o Options

	running atomic.Bool

	mu        sync.Mutex
	gate      *gate
	listening chan struct{} // of this run or the next one

	requests, panics, timeouts, refused atomic.Uint64
	panicLog, netLog, acceptLog         logguard.Throttle
}

// Stats holds counters of a server since New, over all runs.
type Stats struct {
	// Open is the number of connections that are open now.
	Open int
	// Requests counts the calls of the handler, Panics its panics, and Timeouts the calls that
	// exceeded HandlerTimeout.
	Requests, Panics, Timeouts uint64
	// Refused counts the connections that were closed because of MaxConnections.
	Refused uint64
}

// New returns a server. It starts no goroutine and opens no port. An invalid option is an
// *option.Error.
func New(o Options) (*Server, error) {
	o, err := o.validated()
	if err != nil {
		return nil, err
	}
	return &Server{
		o: o, listening: make(chan struct{}),
		panicLog: logguard.Throttle{Interval: time.Minute, Burst: 1}, netLog: logguard.Throttle{Interval: time.Second, Burst: 1}, acceptLog: logguard.Throttle{Interval: 10 * time.Second, Burst: 1},
	}, nil
}

// Name returns the name of the server.
func (s *Server) Name() string { return s.o.Name }

// Addr returns the address that the server listens on, or nil if it does not listen.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate == nil {
		return nil
	}
	return s.gate.Addr()
}

// Listening returns a channel that is closed once the server accepts connections, in this run or
// else in the next one.
func (s *Server) Listening() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listening
}

// Stats returns the current figures.
func (s *Server) Stats() Stats {
	st := Stats{Requests: s.requests.Load(), Panics: s.panics.Load(), Timeouts: s.timeouts.Load(), Refused: s.refused.Load()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate != nil {
		st.Open = s.gate.open()
	}
	return st
}

// Run listens and serves until ctx ends. It then accepts no more connections and waits up to
// Options.StopTimeout for running requests. After that it ends the ctx of the remaining requests
// with ErrStopped and closes the connections. It returns when every goroutine has ended, including
// those of handlers. It may be called again afterwards.
//
// The error is nil if ctx ended the run. Otherwise it is one of these:
//
//   - a *ListenError
//   - run.ErrRunning
//   - an *option.Error, if a host name resolved to an address other than loopback
//   - the reason why no connection could be accepted any more
func (s *Server) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return fmt.Errorf("server %q: %w", s.o.Name, run.ErrRunning)
	}
	defer s.running.Store(false)
	if ctx.Err() != nil {
		return nil
	}
	l, err := s.listen(ctx)
	if err != nil {
		return err
	}
	return s.serve(ctx, l)
}

func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.o.Addr)
	if err != nil {
		return nil, &ListenError{Server: s.o.Name, Addr: s.o.Addr, Err: err}
	}
	if at, ok := l.Addr().(*net.TCPAddr); s.o.TLS == nil && !s.o.Insecure && (!ok || !at.IP.IsLoopback()) {
		_ = l.Close()
		return nil, &option.Error{Of: fmt.Sprintf("server %q", s.o.Name), Field: "Addr", Err: fmt.Errorf("%s is %s: %w", s.o.Addr, l.Addr(), ErrPlain)}
	}
	return l, nil
}

func (s *Server) serve(ctx context.Context, l net.Listener) error {
	g := newGate(l, s.o.MaxConnections, func() { s.refused.Add(1) }, func(err error) {
		if ctx.Err() != nil {
			return
		}
		s.acceptLog.Next(s.o.Logger).Warn("cannot accept connections", "err", err)
	})
	// Requests outlive ctx: the end of ctx stops the intake only.
	work, drop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer drop(ErrStopped)
	h := s.http(g, work)

	s.mu.Lock()
	s.gate = g
	close(s.listening)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gate, s.listening = nil, make(chan struct{})
	}()

	group, running := run.New(ctx)
	group.Go("", func(context.Context) error {
		if s.o.TLS != nil {
			return h.ServeTLS(g, "", "")
		}
		return h.Serve(g)
	})
	group.Go("", func(context.Context) error {
		<-running.Done()
		s.stop(h, g, drop)
		return nil
	})
	s.o.Logger.Info("listening", "addr", l.Addr().String(), "tls", s.o.TLS != nil)
	err := group.Wait()
	g.wait()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("server %q: %w", s.o.Name, err)
}

// freshTimeout is how long a stopping server waits for the first request of a connection. Clients
// keep unused connections in their pools. net/http would wait 5 s for them.
const freshTimeout = 500 * time.Millisecond

// stop ends the intake, waits for running requests, and then ends the remaining ones.
func (s *Server) stop(h *http.Server, g *gate, drop context.CancelCauseFunc) {
	if s.o.StopTimeout > 0 {
		bound, cancel := context.WithTimeout(context.Background(), s.o.StopTimeout)
		late := time.AfterFunc(freshTimeout, g.closeFresh)
		err := h.Shutdown(bound)
		late.Stop()
		cancel()
		if err == nil {
			return
		}
		s.o.Logger.Warn("requests were still running after the stop timeout and were cut off", "waited", s.o.StopTimeout)
	}
	drop(ErrStopped)
	_ = h.Close()
}

func (s *Server) http(g *gate, work context.Context) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(s.o.HTTP2 && s.o.TLS != nil)
	return &http.Server{
		Handler:           s.guarded(g),
		ReadHeaderTimeout: s.o.HeaderTimeout,
		ReadTimeout:       max(s.o.ReadTimeout, 0),
		WriteTimeout:      max(s.o.WriteTimeout, 0),
		IdleTimeout:       s.o.IdleTimeout,
		MaxHeaderBytes:    s.o.MaxHeaderBytes,
		ConnState:         g.state,
		ConnContext:       connContext,
		BaseContext:       func(net.Listener) context.Context { return work },
		ErrorLog:          log.New(errorLog{s}, "", 0),
		Protocols:         &protocols,
		TLSConfig:         s.o.TLS,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 100},
		// The guard applies to general OPTIONS requests, too.
		DisableGeneralOptionsHandler: true,
	}
}
