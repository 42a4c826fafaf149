package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/faults"
)

// AnswersAtOnce reports whether the answer to a request waits for nothing but rules and webhooks: the request is no
// watch, and the server has no fault rules.
func (s *Server) AnswersAtOnce(r *http.Request) bool {
	query := r.URL.RawQuery
	watches := strings.Contains(query, "watch") || strings.Contains(query, "%") // or it may
	return !s.failed.Load() && !watches && !strings.Contains(r.URL.Path, "/watch/")
}

// AtOnce answers a request for which AnswersAtOnce holds, and sets the header of the answer. It is ServeHTTP for clients
// of the same process, which take the answer whole and do not change its body. An error is that of the request's body.
// AtOnce asks ctx, in place of the request's context, and only if it waits. It panics with [http.ErrAbortHandler] if ctx
// ends then.
func (s *Server) AtOnce(ctx context.Context, r *http.Request, header http.Header) (core.Answer, error) {
	body, err := bodyOf(r)
	if err != nil {
		return core.Answer{}, err
	}
	req, refused := s.identify(r, body, header)
	if refused != nil {
		Head(header, *refused)
		return *refused, nil
	}
	answer := s.answer(ctx, req, faults.Plan{CutAt: -1}, s.ask)
	s.pause(ctx, faults.Plan{Delay: s.opts.Latency}, nil)
	Head(header, answer)
	return answer, nil
}
