package web

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// Restart cuts all connections and drops the history, as the restart of an API server does.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns.cut() // first, so that no client sees its watch end in good order
	s.state.Compact()
	s.endEpoch(errRestarted)
	s.newEpoch()
	s.wake()
}

// Cut resets all connections.
func (s *Server) Cut() { s.conns.cut() }

// conns has the open connections. It is safe for concurrent use.
type conns struct {
	mu  sync.Mutex
	all map[net.Conn]struct{}
}

// cut resets all connections.
func (o *conns) cut() {
	o.mu.Lock()
	all := o.all
	o.all = nil
	o.mu.Unlock()
	for c := range all {
		if t, ok := c.(*tls.Conn); ok {
			c = t.NetConn()
		}
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // a reset
		}
		_ = c.Close() // an error would only say that it is closed
	}
}

// ConnState notes the open connections, for Restart. It is the field of [http.Server].
func (s *Server) ConnState(c net.Conn, state http.ConnState) {
	o := &s.conns
	o.mu.Lock()
	defer o.mu.Unlock()
	switch state {
	case http.StateNew:
		if o.all == nil {
			o.all = map[net.Conn]struct{}{}
		}
		o.all[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(o.all, c)
	}
}
