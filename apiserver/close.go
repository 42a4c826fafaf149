package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// closeBound bounds how long Close waits for requests that run.
const closeBound = 10 * time.Second

// clientBound bounds how long Close waits for clients that read an answer or send a body.
const clientBound = time.Second

// goAway bounds how long Close waits for clients of HTTP/2 to close idle connections.
const goAway = 20 * time.Millisecond

// Close ends all watches, waits up to ten seconds for requests that run, and closes the port. Clients that do not read
// their answers or do not end their bodies are cut after a second. Servers of [Start] are closed by their test.
func (s *Server) Close() error {
	s.web.Close()
	wait := s.http.Shutdown
	switch {
	case s.pki != nil:
		wait = s.requests.end
	case s.rt != nil:
		wait = s.rt.close
	}
	if err := s.finish(wait); err != nil {
		return fmt.Errorf("apiserver: requests run for %v after the server was closed: %w", closeBound, errors.Join(err, s.http.Close()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), goAway)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		if err := s.http.Close(); err != nil {
			return fmt.Errorf("apiserver: %w", err)
		}
	}
	return nil
}

// finish waits for the end of all requests. Those that wait for nothing but their clients are cut.
func (s *Server) finish(wait func(context.Context) error) error {
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(context.Background(), clientBound)
		err := wait(ctx)
		cancel()
		if err == nil || time.Since(began) >= closeBound {
			return err
		}
		if !s.web.Busy() {
			s.web.Cut()
		}
	}
}

// requests counts the requests that run. It is safe for concurrent use.
type requests struct {
	next http.Handler

	mu      sync.Mutex
	running int
	ended   chan struct{} // closed when none runs; nil until end
}

func (r *requests) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !r.begin() {
		panic(http.ErrAbortHandler)
	}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.running--; r.running == 0 && r.ended != nil {
			close(r.ended)
		}
	}()
	r.next.ServeHTTP(w, req)
}

func (r *requests) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		return false
	}
	r.running++
	return true
}

// end refuses new requests, and waits for those that run until ctx ends.
func (r *requests) end(ctx context.Context) error {
	r.mu.Lock()
	if r.ended == nil {
		r.ended = make(chan struct{})
		if r.running == 0 {
			close(r.ended)
		}
	}
	r.mu.Unlock()
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
