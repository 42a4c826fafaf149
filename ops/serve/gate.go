package serve

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// gate bounds the connections of a listener, and waits until all have ended. A connection is busy
// while a handler answers a request on it. A new connection over the bound evicts the oldest
// connection that is not busy.
//
//	Accept ──► fresh ──begin──► busy ──end──► idle
//	             └───── evicted, oldest first ──┘
type gate struct {
	net.Listener
	max int
	// refused is called for each connection that is closed because of the bound. problem is called
	// for each failure to accept one.
	refused func()
	problem func(error)

	mu     sync.Mutex
	ended  sync.Cond // signalled when live and handlers are both zero
	fresh  list.List // of *conn that are not busy and never were
	idle   list.List // of *conn that are not busy
	opened int       // number of open connections

	live     int // number of connections that net/http serves
	handlers int // number of running handlers
}

// conn is a connection of a gate. The gate's mutex guards its fields.
type conn struct {
	net.Conn
	gate    *gate
	list    *list.List // the list that it waits in; nil if it is busy or closed
	element *list.Element
	busy    int
	closed  bool
}

func newGate(l net.Listener, max int, refused func(), problem func(error)) *gate {
	g := &gate{Listener: l, max: max, refused: refused, problem: problem}
	g.ended.L = &g.mu
	return g
}

// Accept returns the next connection that is within the bound.
func (g *gate) Accept() (net.Conn, error) {
	for {
		raw, err := g.Listener.Accept()
		if err != nil {
			g.problem(err)
			return nil, err
		}
		if c := g.admit(raw); c != nil {
			return c, nil
		}
	}
}

// admit registers a connection, and evicts another one if necessary. It returns nil if it has
// closed the connection.
func (g *gate) admit(raw net.Conn) *conn {
	c := &conn{Conn: raw, gate: g}
	var victim *conn
	g.mu.Lock()
	if g.opened >= g.max {
		if victim = g.oldestLocked(); victim == nil {
			g.mu.Unlock()
			_ = raw.Close()
			g.refused()
			return nil
		}
		victim.removeLocked()
	}
	g.opened++
	c.waitLocked(&g.fresh)
	g.mu.Unlock()
	if victim != nil {
		_ = victim.Conn.Close()
		g.refused()
	}
	return c
}

func (g *gate) oldestLocked() *conn {
	for _, l := range []*list.List{&g.fresh, &g.idle} {
		if e := l.Front(); e != nil {
			return e.Value.(*conn)
		}
	}
	return nil
}

func (c *conn) waitLocked(in *list.List) { c.list, c.element = in, in.PushBack(c) }

func (c *conn) stopWaitLocked() {
	if c.list != nil {
		c.list.Remove(c.element)
		c.list, c.element = nil, nil
	}
}

func (c *conn) removeLocked() {
	if !c.closed {
		c.closed = true
		c.gate.opened--
		c.stopWaitLocked()
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.gate.mu.Lock()
	c.removeLocked()
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

type connKey struct{}

// connContext puts the connection into the ctx of its handlers.
func connContext(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// begin marks a handler as running. The caller calls end when the handler has returned.
func (g *gate) begin(ctx context.Context) (end func()) {
	c, _ := ctx.Value(connKey{}).(*conn)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handlers++
	if c != nil {
		c.busy++
		c.stopWaitLocked()
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if c != nil {
			if c.busy--; c.busy == 0 && !c.closed {
				c.waitLocked(&g.idle)
			}
		}
		g.handlers--
		g.signalLocked()
	}
}

// state is the ConnState hook of net/http.
func (g *gate) state(_ net.Conn, s http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch s {
	case http.StateNew:
		g.live++
	case http.StateClosed:
		g.live--
		g.signalLocked()
	}
}

func (g *gate) signalLocked() {
	if g.live == 0 && g.handlers == 0 {
		g.ended.Broadcast()
	}
}

// wait returns when no connection is served and no handler runs. The listener must be closed.
func (g *gate) wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.live != 0 || g.handlers != 0 {
		g.ended.Wait()
	}
}

// closeFresh closes the connections that never had a request.
func (g *gate) closeFresh() {
	g.mu.Lock()
	var all []*conn
	for g.fresh.Len() > 0 {
		c := g.fresh.Front().Value.(*conn)
		c.removeLocked()
		all = append(all, c)
	}
	g.mu.Unlock()
	for _, c := range all {
		_ = c.Conn.Close()
	}
}

func (g *gate) open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened
}
