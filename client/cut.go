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

// errCut is the cause with which a write is cut off.
var errCut = errors.New("cut off, since it may not be made any more: the server may have got it")

// cutter carries the writes of fenced clients over connections of their own. A reset of an HTTP/2
// connection ends all requests on it, and must not end reads and watches.
type cutter struct {
	cfg *rest.Config // nil: the configuration has a transport, whose connections are unknown

	mu      sync.Mutex
	rt      http.RoundTripper // made for the first write, and for the first after a cut
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

// begin registers a write that cancel ends. It returns the transport for the write: the cutter's own, or
// shared if the cutter cannot make one. The caller calls end when the header of the answer has arrived.
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

// cut cancels the writes in flight and resets all connections. Later writes use a new transport, so none
// of them meets a connection that was just closed.
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
		closeIdle(rt) // calls Close of tracked connections
	}
}

// track registers a connection that was dialed after the given number of cuts. It closes a connection of
// a transport that was cut since.
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

// trackedConn is registered with its cutter until it is closed.
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

// reset closes the connection. The system drops bytes that it has not sent, and sends none again.
func (t *trackedConn) reset() {
	if c, ok := t.Conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0)
	}
	_ = t.Conn.Close()
}

// CutWrites ends the writes of fenced clients that were sent and have no answer. It cancels them and
// resets the connections of fenced writes. The system then sends none of their bytes any more, neither
// waiting ones nor retransmissions. The error of such a write is an [UnavailableError]: the server may
// have received it. Bytes in the network, or in a proxy, may still arrive.
//
// Close the fence first, then call CutWrites, as package leader does. It affects all fenced clients
// that share a Live. It does not block. Reads and watches continue, and later writes use new
// connections.
func (c *Live) CutWrites() { c.link.writes.cut() }
