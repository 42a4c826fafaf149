package faults

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Dial connects to a server. It has the form of rest.Config.Dial.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// pipes is a listener without a port. Its connections stay within the process, and work in a bubble of testing/synctest.
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

func (p *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "localhost" } // no proxy of the environment is for localhost

// dial connects to the listener, whatever the address is.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	broken := make(chan struct{})
	select {
	case p.conns <- &pipe{Conn: server, broken: broken}:
		return &pipe{Conn: client, broken: broken}, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: pipeAddr{}, Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pipe is one end of a connection within the process. After a reset, the other end fails as one of TCP does.
type pipe struct {
	net.Conn
	broken chan struct{}
}

// reset drops the connection. Only one end may do so, and only once.
func (p *pipe) reset() {
	close(p.broken)
	p.Close()
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	return n, p.cause("read", err)
}

func (p *pipe) Write(b []byte) (int, error) {
	n, err := p.Conn.Write(b)
	return n, p.cause("write", err)
}

func (p *pipe) cause(op string, err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-p.broken:
		return &net.OpError{Op: op, Net: "pipe", Addr: pipeAddr{}, Err: syscall.ECONNRESET}
	default:
		return err
	}
}
