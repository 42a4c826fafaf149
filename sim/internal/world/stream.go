package world

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/web"
)

// stream is an open watch of a program: the body of its response, and what of it is not delivered yet. Its reader uses
// the part below the lock, the world all else.
type stream struct {
	from     *incarnation
	resource string // "resource.group"
	url      string // without what clients draw
	watch    *core.Watch
	pending  []*event
	// endAt is when the server ends it.
	endAt time.Time
	// lag is the step until whose end the watch is held back; zero: it is not.
	lag int
	// lateUntil is when the watch goes on.
	lateUntil time.Time
	// merged is an event that is left out if the next one of its object comes in time.
	merged      *event
	mergedUntil time.Time
	// first is an event that waits for the next one of its object, with all that follows.
	first      *event
	firstUntil time.Time
	// muted says that the reader is not told of what is sent.
	muted bool

	ctx   context.Context
	mu    sync.Mutex
	moved chan struct{} // signals the reader
	rest  [][]byte
	err   error
}

// waits reports whether nothing comes over the watch at present.
func (s *stream) waits() bool { return s.lag > 0 || time.Now().Before(s.lateUntil) }

// silence holds back the watches of a path, and those that are opened until then.
func (i *incarnation) silence(path string, until time.Time) {
	i.silent[path] = until
	for _, s := range i.streams {
		i.hush(s)
	}
}

// hush holds back a watch while its path is silent.
func (i *incarnation) hush(s *stream) {
	if until := i.silent[path(s.url)]; s.lateUntil.Before(until) {
		s.lateUntil = until
	}
}

// event is an event that is not delivered yet.
type event struct {
	core.Event
	on      *stream
	view    core.View
	counted bool
}

func (e *event) version() uint64 {
	if e.Object != nil {
		return e.Object.Version
	}
	return e.Version
}

func (e *event) key() string {
	if e.Object == nil {
		return ""
	}
	return e.Object.Key
}

func newStream(c *call, w *core.Watch, resource string) *stream {
	length := longest
	if n, err := strconv.Atoi(c.http.URL.Query().Get("timeoutSeconds")); err == nil {
		length = min(length, time.Duration(n)*time.Second)
	}
	return &stream{from: c.from, resource: resource, url: c.req.URL, watch: w, endAt: time.Now().Add(length), ctx: c.http.Context(), moved: make(chan struct{}, 1)}
}

// longest is how long a watch lasts that asks for more, as clients do that draw their time from five to ten minutes.
const longest = 5 * time.Minute

// send adds a frame for the reader.
func (s *stream) send(kind string, object []byte) {
	s.mu.Lock()
	parts := web.FrameParts(kind, object, s.watch.Protobuf())
	s.rest = append(s.rest, parts[:]...)
	s.mu.Unlock()
	if !s.muted {
		s.signal()
	}
}

// end ends the stream with an error, after what was sent.
func (s *stream) end(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	s.signal()
}

func (s *stream) signal() {
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

// closed reports whether nobody reads it any more, or it has ended.
func (s *stream) closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || s.ctx.Err() != nil
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		n := 0
		for len(s.rest) > 0 && n < len(p) {
			m := copy(p[n:], s.rest[0])
			n += m
			if s.rest[0] = s.rest[0][m:]; len(s.rest[0]) == 0 {
				s.rest = s.rest[1:]
			}
		}
		if n > 0 {
			s.mu.Unlock()
			return n, nil
		}
		err := s.err
		s.mu.Unlock()
		if err != nil {
			return 0, err
		}
		select {
		case <-s.moved:
		case <-s.ctx.Done():
			return 0, context.Cause(s.ctx)
		}
	}
}

var errClosed = errors.New("simulation: read on a body that was closed")

// Close implements [io.Closer].
func (s *stream) Close() error {
	s.end(errClosed)
	return nil
}

// resourceOf returns the resource and group of a target, as in "deployments.apps".
func resourceOf(t core.Target) string {
	if t.Group == "" {
		return t.Resource
	}
	return t.Resource + "." + t.Group
}

var _ io.ReadCloser = (*stream)(nil)
