package serve

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// gate bounds the connections of a listener and knows when all is over. A request that is being
// answered makes its connection busy; of the others the one that has waited longest makes room.
//
//	Accept ──► fresh ──begin──► busy ──end──► idle
//	             └───── evicted, oldest first ──┘
type gate struct {
	net.Listener
	max int
	// turned is told of each connection that was closed for want of room, problem of each failure to
	// accept one.
	turned  func()
	problem func(error)

	mu    sync.Mutex
	quiet sync.Cond // signalled when live and handlers are both zero
	fresh list.List // of *conn that wait and never were busy
	idle  list.List // of *conn that wait
	held  int       // connections that are open

	live     int // goroutines of net/http with a connection
	handlers int // handlers that run
}

// conn is a connection behind a gate. Its fields are under the mutex of the gate.
type conn struct {
	net.Conn
	gate  *gate
	in    *list.List // where it waits; nil: it is busy, or gone
	place *list.Element
	busy  int
	gone  bool
}

func newGate(l net.Listener, max int, turned func(), problem func(error)) *gate {
	g := &gate{Listener: l, max: max, turned: turned, problem: problem}
	g.quiet.L = &g.mu
	return g
}

// Accept waits for a connection for which there is room.
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

// admit takes a connection in, in the place of another one if need be; nil: it was closed.
func (g *gate) admit(raw net.Conn) *conn {
	c := &conn{Conn: raw, gate: g}
	var victim *conn
	g.mu.Lock()
	if g.held >= g.max {
		if victim = g.oldestLocked(); victim == nil {
			g.mu.Unlock()
			_ = raw.Close()
			g.turned()
			return nil
		}
		victim.leaveLocked()
	}
	g.held++
	c.waitLocked(&g.fresh)
	g.mu.Unlock()
	if victim != nil {
		_ = victim.Conn.Close()
		g.turned()
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

func (c *conn) waitLocked(in *list.List) { c.in, c.place = in, in.PushBack(c) }

func (c *conn) stopWaitLocked() {
	if c.in != nil {
		c.in.Remove(c.place)
		c.in, c.place = nil, nil
	}
}

func (c *conn) leaveLocked() {
	if !c.gone {
		c.gone = true
		c.gate.held--
		c.stopWaitLocked()
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.gate.mu.Lock()
	c.leaveLocked()
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

type connKey struct{}

// connContext lets handlers find their connection.
func connContext(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// begin says that a handler runs, and returns what is to be called when it has returned.
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
			if c.busy--; c.busy == 0 && !c.gone {
				c.waitLocked(&g.idle)
			}
		}
		g.handlers--
		g.quietLocked()
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
		g.quietLocked()
	}
}

func (g *gate) quietLocked() {
	if g.live == 0 && g.handlers == 0 {
		g.quiet.Broadcast()
	}
}

// wait returns when no connection is served and no handler runs any more. The listener must be
// closed.
func (g *gate) wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.live != 0 || g.handlers != 0 {
		g.quiet.Wait()
	}
}

// drop closes the connections on which nothing was ever asked.
func (g *gate) drop() {
	g.mu.Lock()
	var all []*conn
	for g.fresh.Len() > 0 {
		c := g.fresh.Front().Value.(*conn)
		c.leaveLocked()
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
	return g.held
}
