package demo

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
)

// steady makes all stories on the API server in memory ask the same, request by request. So the answers can be recorded,
// see [Answers]. Requests are answered one after the other, each when the controllers have come to rest after the one
// before, and the clock of the server moves with the story.
type steady struct {
	now       atomic.Int64 // seconds since began
	server    *apiserver.Server
	turn      sync.Mutex    // held while a request is answered, or a watch begins
	namespace string        // of the story
	after     func(*steady) // is called after each of them; may be nil
}

// began is the time at the beginning of each story.
var began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Now is the clock of the server.
func (s *steady) Now() time.Time { return began.Add(time.Duration(s.now.Load()) * time.Second) }

// in sets the namespace of the story.
func (s *steady) in(namespace string) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.namespace = namespace
}

// settle waits until the controllers are at rest.
func (s *steady) settle(ctx context.Context) error { return s.server.Settle(ctx) }

// step waits until the controllers are at rest, moves the clock by a second, and waits again.
func (s *steady) step(ctx context.Context) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := s.server.Settle(ctx); err != nil {
		return err
	}
	s.now.Add(1)
	return s.server.Settle(ctx)
}

// config returns the configuration of a client of the server.
func (s *steady) config(agent string) *rest.Config {
	config := s.server.RESTConfig()
	config.UserAgent = agent
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return inTurn{s, next} })
	return config
}

// inTurn is the transport of a client.
type inTurn struct {
	*steady
	next http.RoundTripper
}

// WrappedRoundTripper returns the transport below. The libraries of Kubernetes look for it.
func (t inTurn) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements [http.RoundTripper].
func (t inTurn) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.URL.Path != "/api" && r.URL.Path != "/apis" {
		r.Header.Set("Accept", "application/json") // which the server has, while protobuf is asked for
	}
	query := r.URL.Query()
	if query.Get("watch") != "" {
		query.Set("timeoutSeconds", "600") // clients choose it by chance
		r.URL.RawQuery = query.Encode()
	}
	t.turn.Lock()
	defer t.turn.Unlock()
	if err := t.server.Settle(r.Context()); err != nil {
		return nil, err
	}
	resp, err := t.next.RoundTrip(r)
	if t.after != nil {
		t.after(t.steady)
	}
	return resp, err
}
