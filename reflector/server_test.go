package reflector

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

var pods = &wire.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}}

// scripted is a Source that answers as it is told, in bytes. The lists and watches are counted.
type scripted struct {
	onList  func(n int, q wire.ListQuery) (string, error)
	onWatch func(n int, q wire.WatchQuery, s *stream) error

	mu      sync.Mutex
	lists   []wire.ListQuery
	watches []wire.WatchQuery
	started []time.Time // of the watches
}

func (s *scripted) List(_ context.Context, q wire.ListQuery) (*wire.List, error) {
	s.mu.Lock()
	s.lists = append(s.lists, q)
	n := len(s.lists)
	s.mu.Unlock()
	body, err := list(9, ""), error(nil)
	if s.onList != nil {
		body, err = s.onList(n, q)
	}
	if err != nil {
		return nil, err
	}
	return wire.NewList(io.NopCloser(strings.NewReader(body)), "application/json", pods, wire.Limits{})
}

func (s *scripted) Watch(ctx context.Context, q wire.WatchQuery) (*wire.Watch, error) {
	s.mu.Lock()
	s.watches = append(s.watches, q)
	s.started = append(s.started, time.Now())
	n := len(s.watches)
	s.mu.Unlock()
	st := newStream(ctx)
	if err := s.onWatch(n, q, st); err != nil {
		return nil, err
	}
	return wire.NewWatch(st, "application/json", pods, wire.Limits{})
}

func (s *scripted) counts() (lists, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lists), len(s.watches)
}

// stream is the body of a watch: what is written comes out, and the end of ctx breaks it, as in
// net/http.
type stream struct {
	ctx  context.Context
	more chan struct{}

	mu  sync.Mutex
	buf bytes.Buffer
	end error
}

func newStream(ctx context.Context) *stream {
	return &stream{ctx: ctx, more: make(chan struct{}, 1)}
}

func (s *stream) send(frames ...string) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range frames {
		s.buf.WriteString(f)
	}
	s.wake()
	return s
}

// finish ends the body once all was read: io.EOF is a regular end.
func (s *stream) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = err
	s.wake()
}

func (s *stream) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *stream) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		n, _ := s.buf.Read(p)
		end := s.end
		s.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case s.ctx.Err() != nil:
			return 0, s.ctx.Err()
		case end != nil:
			return 0, end
		}
		select {
		case <-s.more:
		case <-s.ctx.Done():
		}
	}
}

func (s *stream) Close() error { return nil }

func pod(name string, version int) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","uid":"u-%s","resourceVersion":"%d"}}`, name, name, version)
}

func frame(kind, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", kind, object)
}

func bookmark(version int, end bool) string {
	note := ""
	if end {
		note = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	return frame("BOOKMARK", fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d"%s}}`, version, note))
}

func list(version int, cont string, pods ...string) string {
	return fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d","continue":%q},"items":[%s]}`,
		version, cont, strings.Join(pods, ","))
}

// content is a Sink that keeps what it is told.
type content struct {
	mu                        sync.Mutex
	pods                      map[string]string // name → version
	building                  map[string]string
	rejected                  map[object.Key]error
	problems                  []Update
	upserts, deletes          int
	begins, completes, aborts int
	resets                    int
	onUpsert                  func(*store.Entry)
}

func newContent() *content {
	return &content{pods: map[string]string{}, rejected: map[object.Key]error{}}
}

func (c *content) Apply(u *Update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch u.What {
	case Put:
		c.upserts++
		if u.Entry.Err() != nil {
			c.rejected[u.Entry.Key()] = u.Entry.Err()
		}
		c.into()[u.Entry.Key().Name] = u.Entry.ResourceVersion()
		if c.onUpsert != nil {
			c.onUpsert(u.Entry)
		}
	case Delete:
		c.deletes++
		delete(c.into(), u.Entry.Key().Name)
	case Replace:
		c.building = map[string]string{}
		c.begins++
		if u.Reset {
			c.resets++
		}
	case Sweep:
		c.pods, c.building = c.building, nil
		c.completes++
	case Discard:
		c.building = nil
		c.aborts++
	case Unusable:
		c.problems = append(c.problems, *u)
	}
}

func (c *content) Commit() {}

func (c *content) into() map[string]string {
	if c.building != nil {
		return c.building
	}
	return c.pods
}

func (c *content) has(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var got []string
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		got = append(got, name+"@"+c.pods[name])
	}
	if !slices.Equal(got, want) {
		t.Errorf("the sink has %v, want %v", got, want)
	}
}
