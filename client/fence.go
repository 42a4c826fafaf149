package client

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Fence decides whether a write may leave the process: nil lets it, an error keeps it back. It is
// asked more than once for each try of a write, on goroutines of the transport too, and last of
// all when the bytes are taken: it must be cheap, must not block, and must be safe for concurrent
// use.
type Fence func(Call) error

// FencedError is the error for a write that a [Fence] kept back. The server has not got the request, or
// not the whole of it: nothing was written by this try.
type FencedError struct {
	Call
	// Err is the reason of the fence.
	Err error
}

func (e *FencedError) Error() string { return fmt.Sprintf("%s: kept back: %v", e.Call, e.Err) }

// Unwrap returns the reason of the fence.
func (e *FencedError) Unwrap() error { return e.Err }

// Fenced returns a client whose writes ask f. Every request counts as a write that is no get, list
// or watch: dry runs and reviews too. Everything else is shared with c, which itself stays as it
// is. A fence of c is asked as well. A nil f: c.
//
// The fence is asked before each try, after all waiting for a limit or for a server that is busy,
// and again each time the transport takes bytes of the body: the waiting for a connection lies
// before that. What is left between the answer of the fence and the sending is work of
// microseconds; [Live.CutWrites] ends what has been sent and not been answered. For the process that is halted just there and goes on later, only the server can
// keep the write back: by a resourceVersion in it.
//
// [Options.Hook] does not hear of tries that were kept back.
func (c *Live) Fenced(f Fence) *Live {
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

// gate asks the fence for one try. Once it has kept something back it is closed. A nil gate lets
// everything through.
type gate struct {
	call  Call
	fence Fence

	mu     sync.Mutex
	closed *FencedError
}

func newGate(r *request) *gate {
	if r.fence == nil || r.method == http.MethodGet {
		return nil
	}
	return &gate{call: r.call, fence: r.fence}
}

func (g *gate) ask() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		err := g.fence(g.call)
		if err == nil {
			return nil
		}
		g.closed = &FencedError{Call: g.call, Err: err}
	}
	return g.closed
}

// refused is the error of a gate that is closed, else nil.
func (g *gate) refused() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		return nil
	}
	return g.closed
}

// body is a new reader of data that asks the gate for every part that is left. The end is given
// out without asking: then all has gone.
func (g *gate) body(data []byte) io.ReadCloser {
	b := bytes.NewReader(data)
	if g == nil {
		return io.NopCloser(b)
	}
	return &gatedBody{data: b, gate: g}
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

// Close implements [io.Closer].
func (b *gatedBody) Close() error { return nil }
