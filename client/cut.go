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

// roundTrip sends a write that cancel ends: over the cutter's own transport, or over shared if it cannot
// make one.
func (c *cutter) roundTrip(shared http.RoundTripper, req *http.Request, cancel context.CancelCauseFunc) (*http.Response, error) {
	c.mu.Lock()
	c.flights[&cancel] = struct{}{}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.flights, &cancel)
	}()
	rt, err := c.transport(shared)
	if err != nil {
		return nil, err
	}
	return rt.RoundTrip(req)
}

// transport returns the transport of the cutter. It makes one without the lock, since that reads files.
func (c *cutter) transport(shared http.RoundTripper) (http.RoundTripper, error) {
	c.mu.Lock()
	rt, cuts := c.rt, c.cuts
	c.mu.Unlock()
	switch {
	case c.cfg == nil:
		return shared, nil
	case rt != nil:
		return rt, nil
	}
	rt, err := newTransport(c.tracking(cuts))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cuts == cuts && c.rt == nil {
		c.rt = rt
	}
	if c.cuts == cuts {
		rt = c.rt
	}
	return rt, nil // one of before a cut dials no connection
}

// tracking is the configuration with a dialer that registers each connection.
func (c *cutter) tracking(cuts int) *rest.Config {
	cfg := rest.CopyConfig(c.cfg)
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return c.track(conn, cuts)
	}
	return cfg
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
