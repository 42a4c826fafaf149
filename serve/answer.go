package serve

import (
	"context"
	"net/http"
)

// answer is the ResponseWriter of a handler: it knows whether the answer has begun.
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

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// guarded calls the handler of a server with what it must not do without: a deadline, a bound on the
// body, and somebody who catches its panics.
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
			// The original writer, so that net/http closes the connection of a body that is too long.
			r.Body = http.MaxBytesReader(w, r.Body, s.o.MaxBodyBytes)
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		s.o.Handler.ServeHTTP(a, r)

		if context.Cause(ctx) == ErrHandlerTimeout {
			s.timeouts.Add(1)
			if !a.begun {
				http.Error(a, "not done in time", http.StatusServiceUnavailable)
			}
		}
	})
}

// recovered is deferred around a handler. A handler that panics with http.ErrAbortHandler wants the
// connection to be closed without a word; an answer that has begun cannot become another one.
func (s *Server) recovered(a *answer, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v != http.ErrAbortHandler {
		s.panics.Add(1)
		s.toldOfPanic(r, v)
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
