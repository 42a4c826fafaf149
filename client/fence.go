package client

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// FencedError is the error for a write that a fence kept back. The server has received nothing, or
// only part of the request: this try wrote nothing.
type FencedError struct {
	Call
	unanswered
	// Err is the error that the fence returned.
	Err error
}

func (e *FencedError) Error() string { return fmt.Sprintf("%s: kept back: %v", e.Call, e.Err) }

// Unwrap returns the error that the fence returned.
func (e *FencedError) Unwrap() error { return e.Err }

// Fenced returns a client whose writes ask f first. A write is any request but a get, list or watch,
// also a dry run or a review. If c has a fence, writes ask both. The new client shares everything else
// with c, which does not change. If f is nil, Fenced returns c.
//
// f returns nil to permit the write, or an error to keep it back. It is called several times for each
// try of a write, also on goroutines of the transport, and last when the transport takes the bytes. It
// must be cheap and safe for concurrent use, and must not block.
//
// The client asks the fence before each try, after any wait for the rate limit or a busy server. It asks
// again each time the transport takes bytes of the body, which is after any wait for a connection.
// Between the last answer and the sending are microseconds of work. A process may be halted right there
// and continue later: only a resourceVersion in the write protects from that. [Live.CutWrites] ends
// writes that were sent and have no answer.
//
// [Options.Hook] is not called for a try that was kept back.
func (c *Live) Fenced(f func(Call) error) *Live {
	if f == nil {
		return c
	}
	if outer := c.fence; outer != nil {
		inner := f
		f = func(call Call) error {
			if err := outer(call); err != nil {
				return err
			}
			return inner(call)
		}
	}
	d := *c
	d.fence = f
	return &d
}

// gate asks the fence for one try. It closes for good at the first error of the fence. A nil gate is
// always open.
type gate struct {
	call  Call
	fence func(Call) error

	closed atomic.Pointer[FencedError]
}

func newGate(r *request) *gate {
	if r.fence == nil || r.method == http.MethodGet {
		return nil
	}
	return &gate{call: r.call, fence: r.fence}
}

func (g *gate) ask() error {
	if err := g.refused(); err != nil || g == nil {
		return err
	}
	if err := g.fence(g.call); err != nil {
		g.closed.CompareAndSwap(nil, &FencedError{Call: g.call, Err: err})
	}
	return g.refused()
}

// refused returns the error of a closed gate, else nil.
func (g *gate) refused() error {
	if g != nil {
		if err := g.closed.Load(); err != nil {
			return err
		}
	}
	return nil
}

// body returns a new reader of data that asks the gate before each part. It does not ask at the end of
// data: everything has left by then.
func (g *gate) body(data []byte) io.ReadCloser {
	b := bytes.NewReader(data)
	if g == nil {
		return io.NopCloser(b)
	}
	return io.NopCloser(&gatedBody{data: b, gate: g})
}

type gatedBody struct {
	data *bytes.Reader
	gate *gate
}

// Read implements [io.Reader].
func (b *gatedBody) Read(p []byte) (int, error) {
	if b.data.Len() > 0 {
		if err := b.gate.ask(); err != nil {
			return 0, err
		}
	}
	return b.data.Read(p)
}
