package apiserver

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/shared"
)

// pipes is a listener without a port. Its connections are pairs of pipes.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "localhost" }

// dial connects to the listener, whatever the address is.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: address{}, Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// faultTime returns the least time of a request that goes wrong. In a bubble it is not zero: the informers of client-go
// repeat some requests at once, and virtual time would stand still for ever.
func faultTime() time.Duration {
	if shared.InBubble() {
		return 100 * time.Millisecond
	}
	return 0
}
