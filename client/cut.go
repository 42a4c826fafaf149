package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// errCut is why a write was cut off.
var errCut = errors.New("cut off, since it may not be made any more: the server may have got it")

// cutter carries the writes of fenced clients, over connections of their own: resetting one of
// HTTP/2 ends all that is on it, and reads and watches are to go on.
type cutter struct {
	cfg *rest.Config // nil: the transport is a given one, whose connections are unknown

	mu      sync.Mutex
	rt      http.RoundTripper // made by the first write, and by the first after a cut
	cuts    int
	conns   map[*trackedConn]struct{}
	flights map[*context.CancelCauseFunc]struct{}
}

func newCutter(cfg *rest.Config) *cutter {
	c := &cutter{conns: map[*trackedConn]struct{}{}, flights: map[*context.CancelCauseFunc]struct{}{}}
	if cfg.Transport == nil {
		c.cfg = cfg
	}
	return c
}

// begin takes note of a write that cancel ends. It returns the transport for it, which is shared
// if there is none of its own; the caller calls end when the header of the answer is there.
func (c *cutter) begin(shared http.RoundTripper, cancel context.CancelCauseFunc) (rt http.RoundTripper, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rt == nil && c.cfg != nil {
		cfg := rest.CopyConfig(c.cfg)
		dial := cfg.Dial
		if dial == nil {
			dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
		}
		cuts := c.cuts
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return c.track(conn, cuts)
		}
		if c.rt, err = newTransport(cfg); err != nil {
			return nil, nil, err
		}
	}
	if c.rt != nil {
		shared = c.rt
	}
	c.flights[&cancel] = struct{}{}
	return shared, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.flights, &cancel)
	}, nil
}

// cut cancels what is in flight and resets all connections. Later writes have a transport of their
// own, so that none of them is put on a connection that was just closed.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cuts++
	c.rt = nil
	for cancel := range c.flights {
		(*cancel)(errCut)
	}
	for conn := range c.conns {
		conn.reset()
	}
	clear(c.conns)
}

func (c *cutter) closeIdle() {
	c.mu.Lock()
	rt := c.rt
	c.mu.Unlock()
	if rt != nil {
		closeIdle(rt) // which calls Close of what is tracked
	}
}

// track takes note of a connection that was dialled after so many cuts. One for a transport that was
// cut since is closed.
func (c *cutter) track(conn net.Conn, cuts int) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cuts != c.cuts {
		conn.Close()
		return nil, errCut
	}
	t := &trackedConn{Conn: conn, of: c}
	c.conns[t] = struct{}{}
	return t, nil
}

// trackedConn is known to its cutter until it is closed.
type trackedConn struct {
	net.Conn
	of *cutter
}

// Close implements [net.Conn].
func (t *trackedConn) Close() error {
	t.of.mu.Lock()
	delete(t.of.conns, t)
	t.of.mu.Unlock()
	return t.Conn.Close()
}

// reset closes the connection and has the system drop what it has not sent or not heard to have
// come in.
func (t *trackedConn) reset() {
	if c, ok := t.Conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0)
	}
	_ = t.Conn.Close()
}

// CutWrites ends the writes of fenced clients that have left and have no answer yet, as far as that
// can be done from here: they are cancelled, and the connections that fenced writes go over, which
// are their own, are reset, so that what the system has not sent yet is not sent, nor anything sent
// again. Their error is an [UnavailableError]: the server may have got them. What is on its way in the
// network, or held by a proxy, may still arrive.
//
// It is for who closes the fence, after that; package leader does it. It concerns all fenced clients
// made from the same one. It does not block, reads and watches go on, and later writes use new
// connections.
func (c *Live) CutWrites() { c.link.writes.cut() }
