package reflector

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// BenchmarkStep is what a frame costs in the Core.
func BenchmarkStep(b *testing.B) {
	c := newCore(Options{Paged: true})
	now := time.Unix(0, 0)
	for _, in := range []input{{event: started}, {event: opened}, {event: pageCame, version: "1"}, {event: opened}} {
		c.Step(now, 0, in)
	}
	in := input{event: frameCame, what: wire.Modified, entry: store.Rejected(object.Header{Key: object.Key{Namespace: "ns", Name: "a"}, ResourceVersion: "123456789"}, nil)}
	b.ReportAllocs()
	for b.Loop() {
		c.Step(now, 0, in)
	}
}

// BenchmarkFrame is what a small frame costs from the body to the sink.
func BenchmarkFrame(b *testing.B) {
	block := strings.Repeat(frame("MODIFIED", pod("a", 123456789)), 1000)
	b.SetBytes(int64(len(block) / 1000))
	b.ReportAllocs()
	ctx, cancel := context.WithCancel(b.Context())
	src := &endless{block: block, left: b.N/1000 + 1, done: cancel}
	r, err := New(src, discard{}, Options{Paged: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	if err := r.Run(ctx); err != context.Canceled {
		b.Fatal(err)
	}
}

// endless is a Source with one watch, which sends a block again and again.
type endless struct {
	block string
	left  int
	rest  string
	done  func()
}

func (e *endless) List(context.Context, wire.ListQuery) (*wire.List, error) {
	return wire.NewList(io.NopCloser(strings.NewReader(list(9, ""))), "application/json", pods, wire.Limits{})
}

func (e *endless) Watch(context.Context, wire.WatchQuery) (*wire.Watch, error) {
	return wire.NewWatch(io.NopCloser(e), "application/json", pods, wire.Limits{})
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		if e.left == 0 {
			e.done()
			return 0, io.EOF
		}
		e.left--
		e.rest = e.block
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

type discard struct{}

func (discard) Apply(*Update) {}
func (discard) Commit()       {}
