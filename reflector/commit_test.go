package reflector_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/reflector"
)

// careful is a Sink, and the Source that it is fed from, which asks each time before it answers whether
// the sink was told to commit.
type careful struct {
	recorded
	passed  int // since the last Commit
	upserts int
	early   []string
	stop    func()
}

func (c *careful) Apply(u *reflector.Update) {
	if u.What == reflector.Put {
		c.upserts++
	}
	if u.What != reflector.Unusable {
		c.passed++
	}
}

func (c *careful) Commit() { c.passed = 0 }

func (c *careful) waits(what string) {
	if c.passed != 0 {
		c.early = append(c.early, what)
	}
}

// Read is the end of a body: the server says nothing more.
func (c *careful) Read([]byte) (int, error) {
	c.waits("end")
	return 0, io.EOF
}

func (c *careful) body(s string) io.ReadCloser {
	return io.NopCloser(io.MultiReader(iotest.OneByteReader(checked{c, strings.NewReader(s)}), c))
}

type checked struct {
	*careful
	r io.Reader
}

func (c checked) Read(b []byte) (int, error) {
	c.waits("read")
	return c.r.Read(b)
}

func (c *careful) List(context.Context, wire.ListQuery) (*wire.List, error) {
	c.waits("list")
	return wire.NewList(c.body(c.list), "application/json", recordedKind, wire.Limits{})
}

func (c *careful) Watch(context.Context, wire.WatchQuery) (*wire.Watch, error) {
	c.waits("watch")
	if c.upserts > 20 {
		c.stop()
	}
	return wire.NewWatch(c.body(c.watch), "application/json", recordedKind, wire.Limits{})
}

// TestCommitsBeforeItReads: nobody waits for the server while something was applied and not committed.
func TestCommitsBeforeItReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		c := &careful{stop: func() { cancel(enough) }}
		c.list = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
			{"metadata":{"namespace":"default","name":"a","resourceVersion":"3"}},
			{"metadata":{"namespace":"default","name":"b","resourceVersion":"5"}}]}`
		c.watch = `{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"default","name":"a","resourceVersion":"8"}}}
			{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"default","name":"b","resourceVersion":"9"}}}`
		r, err := reflector.New(c, c, reflector.Options{Paged: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != enough || len(c.early) > 0 {
			t.Error(err, c.early)
		}
	})
}
