package faults

import (
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

// Proxy forwards TCP connections from a loopback port to one address.
type Proxy struct {
	target   string
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
type link struct{ client, server net.Conn }

// reset drops the connection as a crashed machine does: with RST, without a flush.
func (l *link) reset() {
	for _, c := range []net.Conn{l.client, l.server} {
		if t, ok := c.(*net.TCPConn); ok {
			t.SetLinger(0)
		}
		c.Close()
	}
}

// NewProxy listens on a free loopback port and forwards to target ("host:port") until Close.
func NewProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, listener: l, heal: make(chan struct{}), cut: -1, conns: map[*link]struct{}{}}
	p.wg.Add(1)
	go p.accept()
	return p, nil
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
	server, err := net.Dial("tcp", p.target)
	l := &link{client: client, server: server}
	if err != nil {
		l.server = client
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
	both.Add(2)
	go func() { defer both.Done(); p.copy(l, Up, server, client) }()
	go func() { defer both.Done(); p.copy(l, Down, client, server) }()
	both.Wait()
	client.Close()
	server.Close()
	p.mu.Lock()
	delete(p.conns, l)
	p.mu.Unlock()
}

func (p *Proxy) copy(l *link, d Direction, to, from net.Conn) {
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
			if errors.Is(err, io.EOF) {
				if t, ok := to.(*net.TCPConn); ok {
					t.CloseWrite()
				}
			} else {
				l.reset()
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
