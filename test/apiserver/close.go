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

// goAway bounds how long Close waits for clients of HTTP/2 to close idle connections.
const goAway = 20 * time.Millisecond

// Close ends all watches, waits up to ten seconds for requests that run, and closes the port. Servers of [Start] are
// closed by their test.
func (s *Server) Close() error {
	s.web.Close()
	bound := closeBound
	if s.pki != nil {
		if !s.requests.end(closeBound) {
			return fmt.Errorf("apiserver: requests run for %v after the server was closed: %w", closeBound, s.http.Close())
		}
		bound = goAway
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if s.rt != nil {
		if err := s.rt.close(ctx); err != nil {
			return fmt.Errorf("apiserver: %w", errors.Join(err, s.http.Close()))
		}
	}
	if err := s.http.Shutdown(ctx); err != nil {
		closed := s.http.Close()
		if s.pki == nil {
			return fmt.Errorf("apiserver: %w", errors.Join(err, closed))
		}
	}
	return nil
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

// end refuses new requests, and reports whether those that run have ended in time.
func (r *requests) end(bound time.Duration) bool {
	r.mu.Lock()
	if r.ended == nil {
		r.ended = make(chan struct{})
		if r.running == 0 {
			close(r.ended)
		}
	}
	r.mu.Unlock()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-r.ended:
		return true
	case <-timer.C:
		return false
	}
}
