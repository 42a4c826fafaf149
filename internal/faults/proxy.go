package faults

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Direction is one half of a connection.
type Direction int

const (
	Up   Direction = iota // from the client to the server
	Down                  // from the server to the client
)

// Proxy forwards connections to one server: those of TCP from a loopback port, or pipes within the process.
type Proxy struct {
	dial     func() (net.Conn, error)
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	heal   chan struct{} // closed at the end of the current blackhole
	holes  [2]bool
	cut    int64 // bytes from the server before the cut; negative: no cut
	cuts   int
	refuse bool
	conns  map[*link]struct{}
	opened int
	closed bool
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	once           sync.Once
}

// reset drops the connection as a crashed machine does: with RST, without a flush.
func (l *link) reset() {
	l.once.Do(func() {
		for _, c := range []net.Conn{l.client, l.server} {
			switch c := c.(type) {
			case *net.TCPConn:
				c.SetLinger(0)
			case *pipe:
				c.reset()
			case nil:
				continue
			}
			c.Close()
		}
	})
}

// NewProxy listens on a free loopback port and forwards to target ("host:port") until Close.
func NewProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return newProxy(l, func() (net.Conn, error) { return net.Dial("tcp", target) }), nil
}

// NewPipeProxy forwards the connections of [Proxy.Dial] to those of a dialer until Close. It works in a bubble of
// testing/synctest.
func NewPipeProxy(to Dial) *Proxy {
	return newProxy(newPipes(), func() (net.Conn, error) { return to(context.Background(), "pipe", "localhost") })
}

func newProxy(l net.Listener, dial func() (net.Conn, error)) *Proxy {
	p := &Proxy{dial: dial, listener: l, heal: make(chan struct{}), cut: -1, conns: map[*link]struct{}{}}
	p.wg.Add(1)
	go p.accept()
	return p
}

// Dial connects to the proxy, whatever the address is.
func (p *Proxy) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if l, ok := p.listener.(*pipes); ok {
		return l.dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", p.Addr())
}

// Addr is the "host:port" that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Opened is the number of connections accepted so far.
func (p *Proxy) Opened() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened
}

// Close ends the proxy and all its connections, and returns when its goroutines have.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Heal()
	p.Reset()
	p.wg.Wait()
	return err
}

// Blackhole stops forwarding in the given directions. Connections, old and new, stay open.
func (p *Proxy) Blackhole(ds ...Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range ds {
		p.holes[d] = true
	}
}

// Refuse resets all open connections, and every later one as soon as it is made.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.Reset()
}

// CutAfter forwards n more bytes from the server, over all connections. It then resets, once, the
// connection that would carry the next byte.
func (p *Proxy) CutAfter(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = n
}

// Cuts returns how many connections CutAfter has cut.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// Heal ends every fault. Bytes held back by a blackhole are then forwarded.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holes, p.cut, p.refuse = [2]bool{}, -1, false
	close(p.heal)
	p.heal = make(chan struct{})
}

// Reset resets all open connections.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.conns {
		l.reset()
	}
}

func (p *Proxy) accept() {
	defer p.wg.Done()
	for {
		c, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		p.wg.Add(1)
		go p.serve(c)
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer p.wg.Done()
	server, err := p.dial()
	l := &link{client: client, server: server}
	if err != nil {
		l.server = nil
		l.reset()
		return
	}
	p.mu.Lock()
	p.opened++
	if p.refuse || p.closed {
		p.mu.Unlock()
		l.reset()
		return
	}
	p.conns[l] = struct{}{}
	p.mu.Unlock()

	var both sync.WaitGroup
	for d, c := range map[Direction][2]net.Conn{Up: {client, server}, Down: {server, client}} {
		from, drain := p.buffered(&both, c[0])
		both.Go(func() {
			defer drain()
			p.copy(l, d, c[1], from)
		})
	}
	both.Wait()
	client.Close()
	server.Close()
	p.mu.Lock()
	delete(p.conns, l)
	p.mu.Unlock()
}

// buffered returns a reader of a connection, and a function for its end. That of a pipe reads ahead, as a system does for
// TCP: writes to a blackhole return.
func (p *Proxy) buffered(wg *sync.WaitGroup, c net.Conn) (from io.Reader, drain func()) {
	if _, ok := p.listener.(*pipes); !ok {
		return c, func() {}
	}
	a := &ahead{chunks: make(chan []byte, 64)}
	wg.Go(func() { a.fill(c) })
	return a, func() {
		c.Close()
		for range a.chunks { // fill may wait for room
		}
	}
}

// ahead is what has been read ahead of a connection.
type ahead struct {
	chunks chan []byte
	err    error // once chunks is closed
	rest   []byte
}

func (a *ahead) fill(c net.Conn) {
	defer close(a.chunks)
	for a.err == nil {
		buf := make([]byte, 32<<10)
		var n int
		if n, a.err = c.Read(buf); n > 0 {
			a.chunks <- buf[:n]
		}
	}
}

func (a *ahead) Read(b []byte) (int, error) {
	if len(a.rest) == 0 {
		rest, ok := <-a.chunks
		if !ok {
			return 0, a.err
		}
		a.rest = rest
	}
	n := copy(b, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

func (p *Proxy) copy(l *link, d Direction, to io.WriteCloser, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			keep, cut := p.pass(d, n)
			if _, werr := to.Write(buf[:keep]); werr != nil {
				l.reset()
				return
			}
			if cut {
				l.reset()
				return
			}
		}
		if err != nil {
			switch to := to.(type) {
			case *net.TCPConn:
				if errors.Is(err, io.EOF) {
					to.CloseWrite()
				} else {
					l.reset()
				}
			default: // a pipe has no half that can be closed; the other direction may have closed it
				to.Close()
			}
			return
		}
	}
}

// pass waits until bytes may be forwarded in direction d. It returns how many of the n bytes to
// forward, and whether to cut the connection behind them.
func (p *Proxy) pass(d Direction, n int) (keep int, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.holes[d] && !p.closed {
		heal := p.heal
		p.mu.Unlock()
		<-heal
		p.mu.Lock()
	}
	keep = n
	if d == Down && p.cut >= 0 {
		if int64(n) > p.cut {
			keep, cut = int(p.cut), true
			p.cut = -1
			p.cuts++
		} else {
			p.cut -= int64(n)
		}
	}
	return keep, cut
}
