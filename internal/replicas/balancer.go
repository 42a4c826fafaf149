package replicas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
)

// Balancer is what clients connect to. It sends each connection to one server, or each request.
type Balancer struct {
	Servers   []*Server
	ByRequest bool
	// OnRequest is called with each request, if it is not nil. Set it before the first one.
	OnRequest func(*http.Request)

	mu   sync.Mutex
	rand *rand.Rand
	http http.Server
	conn chan net.Conn
	end  sync.Once
}

// New returns servers of one state behind a balancer. They are down. Close ends it.
func New(r *rand.Rand, state *State, n int, byRequest bool, resources ...Resource) *Balancer {
	b := &Balancer{ByRequest: byRequest, rand: r, conn: make(chan net.Conn)}
	for range n {
		b.Servers = append(b.Servers, &Server{state: state, resources: resources})
	}
	b.http = http.Server{Handler: b, ConnContext: b.connected, ErrorLog: log.New(io.Discard, "", 0)}
	go b.http.Serve(b)
	return b
}

type serverKey struct{}

// connected chooses the server of a connection. The connection ends with it.
func (b *Balancer) connected(ctx context.Context, c net.Conn) context.Context {
	if b.ByRequest {
		return ctx
	}
	s := c.(*bound).server
	up := s.Up()
	if up == nil {
		c.Close()
		return ctx
	}
	context.AfterFunc(up, func() { c.Close() })
	return context.WithValue(ctx, serverKey{}, s)
}

// bound is a connection to a server.
type bound struct {
	net.Conn
	server *Server
}

// pick returns a server that runs, or nil.
func (b *Balancer) pick() *Server {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, i := range b.rand.Perm(len(b.Servers)) {
		if b.Servers[i].Up() != nil {
			return b.Servers[i]
		}
	}
	return nil
}

var errDown = errors.New("replicas: connection refused")

// Dial connects a client.
func (b *Balancer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	s := b.pick()
	if s == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errDown}
	}
	client, server := net.Pipe()
	select {
	case b.conn <- &bound{server, s}:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (b *Balancer) Accept() (net.Conn, error) {
	c, ok := <-b.conn
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// Addr implements net.Listener.
func (b *Balancer) Addr() net.Addr { return &net.TCPAddr{} }

// Close implements net.Listener.
func (b *Balancer) Close() error {
	b.end.Do(func() { close(b.conn) })
	return nil
}

// Shutdown ends all servers and connections. No client may use it any more.
func (b *Balancer) Shutdown() {
	for _, s := range b.Servers {
		s.Stop()
	}
	b.http.Close()
}

// ServeHTTP sends a request to a server.
func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.OnRequest != nil {
		b.OnRequest(r)
	}
	s, _ := r.Context().Value(serverKey{}).(*Server)
	if s == nil {
		s = b.pick()
	}
	if s == nil {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<html>502 Bad Gateway</html>")
		return
	}
	s.ServeHTTP(w, r)
}
