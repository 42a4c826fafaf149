package flyball

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// memory is a server without a port, for bubbles of testing/synctest. Its connections are pairs of pipes.
type memory struct {
	*httptest.Server
	pipes *pipes
}

// serveInMemory serves h until the test ends.
func serveInMemory(t testing.TB, h http.Handler) *memory {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &memory{&httptest.Server{Listener: p, Config: &http.Server{Handler: h}}, p}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// Close ends the requests, and the server.
func (s *memory) Close() {
	s.CloseClientConnections()
	s.Server.Close()
}

// config is the configuration of a client.
func (s *memory) config() *rest.Config { return &rest.Config{Host: s.URL, Dial: s.pipes.dial} }

// pipes is the listener.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

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

// dial connects to the server, whatever the address is.
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

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "localhost" } // no proxy of the environment is for it
