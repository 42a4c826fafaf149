package web

import (
	"context"
	"io"
	"net/http"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/faults"
)

// writeUntil writes the first n bytes of an answer and cuts the connection.
func writeUntil(w http.ResponseWriter, body []byte, n int) {
	_, _ = w.Write(body[:min(n, len(body))]) // a client that has gone needs no answer
	_ = http.NewResponseController(w).Flush()
	abort()
}

// event sends an event, as the faults of the stream allow. It reports false if the watch is over.
func (s *Server) event(ctx context.Context, f *frames, watch *core.Watch, view core.View, e core.Event) bool {
	next := faults.Frame{Times: 1}
	if f.faults != nil && e.Type != core.Failure {
		f.faults.Forget(s.ended)
		next = f.faults.Next(e.Type == core.Bookmark)
	}
	if next.Delay > 0 && !s.pause(ctx, faults.Plan{Delay: next.Delay}, f.over) {
		return false
	}
	if next.Times > 0 {
		object, err := s.encode(ctx, watch, view, e)
		if err != nil {
			s.opts.Log.Warn("A watch ends", "err", err)
			return false
		}
		if f.send(e.Type, object, next) != nil {
			return false // the client has gone
		}
	}
	return e.Type != core.Failure && (f.faults == nil || s.then(ctx, f, watch, view))
}

// then carries out the faults that follow the events so far. It reports false if the watch is over.
func (s *Server) then(ctx context.Context, f *frames, watch *core.Watch, view core.View) bool {
	for {
		f.faults.Forget(s.ended)
		t := f.faults.Then()
		for _, text := range t.Insert {
			if _, err := io.WriteString(f.w, f.raw(text)); err != nil {
				return false
			}
		}
		switch {
		case t.Cut:
			writeUntil(f.w, nil, 0)
		case t.Expire:
			return s.event(ctx, f, watch, view, watch.Expired())
		case t.End:
			return false
		case t.Silence == 0:
			return true
		}
		if f.flush.Flush() != nil {
			return false
		}
		if !s.pause(ctx, faults.Plan{Hang: t.Silence}, f.over) {
			return false
		}
	}
}
