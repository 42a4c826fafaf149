package serve

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
)

// answer is the ResponseWriter of a handler. It records whether the answer has begun.
type answer struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if code >= 200 || code == http.StatusSwitchingProtocols {
		a.begun = true
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (a *answer) Flush() {
	a.begun = true
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the wrapped writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// guarded wraps the server's handler with a deadline, a bound on the body, and recovery from
// panics.
func (s *Server) guarded(g *gate) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer g.begin(r.Context())()
		s.requests.Add(1)
		a := &answer{ResponseWriter: w}
		defer s.recovered(a, r)

		ctx := r.Context()
		if s.o.HandlerTimeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, s.o.HandlerTimeout, ErrHandlerTimeout)
			defer cancel()
			r = r.WithContext(ctx)
		}
		if s.o.MaxBodyBytes > 0 && r.Body != nil {
			// MaxBytesReader gets the original writer, so that net/http closes the connection if
			// the body is too long.
			r.Body = http.MaxBytesReader(w, r.Body, s.o.MaxBodyBytes)
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		s.o.Handler.ServeHTTP(a, r)

		if context.Cause(ctx) == ErrHandlerTimeout {
			s.timeouts.Add(1)
			if !a.begun {
				http.Error(a, "the handler timed out", http.StatusServiceUnavailable)
			}
		}
	})
}

// recovered is deferred around a handler. A panic with http.ErrAbortHandler closes the connection
// silently. An answer that has begun cannot be replaced by a 500.
func (s *Server) recovered(a *answer, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v != http.ErrAbortHandler {
		s.panics.Add(1)
		s.panicLog.Next(s.o.Logger).Error("HTTP handler panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		if !a.begun {
			h := a.Header()
			for name := range h {
				h.Del(name)
			}
			http.Error(a, "internal error", http.StatusInternalServerError)
			return
		}
	}
	panic(http.ErrAbortHandler)
}
