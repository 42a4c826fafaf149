package faults

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Fault may answer a request in place of the server. It reports whether it did.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// Gateway is an HTTP server in front of an API server. It forwards each request, with the
// credentials of its configuration, unless a Fault answers it.
type Gateway struct {
	server *httptest.Server
	dial   Dial   // nil: the network's
	rest   func() // closes what is left of its connections to the server

	mu    sync.Mutex
	epoch int // of connections: Renew ends it
	fault Fault
	lose  func(frame []byte) bool
	seen  []Request
}

// Request is the record of one request.
type Request struct {
	At     time.Time
	Method string
	Path   string
	Query  url.Values
}

// Watch reports whether the request asked for a watch.
func (r Request) Watch() bool { return r.Query.Get("watch") == "true" || r.Query.Get("watch") == "1" }

// NewGateway serves on a free loopback port until Close.
func NewGateway(to *rest.Config) (*Gateway, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return newGateway(to, l)
}

// NewPipeGateway serves the clients of [Gateway.Config], within the process, until Close. It works in a bubble of
// testing/synctest, if the configuration has a dialer that does.
func NewPipeGateway(to *rest.Config) (*Gateway, error) {
	l := newPipes()
	g, err := newGateway(to, l)
	if err == nil {
		g.dial = l.dial
	}
	return g, err
}

func newGateway(to *rest.Config, l net.Listener) (*Gateway, error) {
	target, err := url.Parse(to.Host)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	transport, err := rest.TransportFor(to)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	g := &Gateway{rest: func() { utilnet.CloseIdleConnectionsFor(transport) }}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			if (Request{Query: r.Request.URL.Query()}).Watch() && r.StatusCode == http.StatusOK {
				r.Body = newFrames(r.Body, strings.Contains(r.Header.Get("Content-Type"), "protobuf"), g.loses)
			}
			return nil
		},
		ErrorLog: log.New(io.Discard, "", 0), // the failures are intended
	}
	g.server = &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.seen = append(g.seen, Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.Query()})
		fault, open := g.fault, r.Context().Value(g) == g.epoch
		g.mu.Unlock()
		switch {
		case !open:
			panic(http.ErrAbortHandler)
		case fault == nil || !fault(w, r):
			proxy.ServeHTTP(w, r)
		}
	})}}
	g.server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		g.mu.Lock()
		defer g.mu.Unlock()
		return context.WithValue(ctx, g, g.epoch)
	}
	g.server.Start()
	return g, nil
}

// Config returns the configuration of a client that goes through the gateway.
func (g *Gateway) Config() *rest.Config { return &rest.Config{Host: g.server.URL, Dial: g.dial} }

// Break sets the fault for all later requests. nil removes it.
func (g *Gateway) Break(f Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = f
}

// Lose drops each later frame of a watch for which f reports true. nil drops none.
func (g *Gateway) Lose(f func(frame []byte) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lose = f
}

func (g *Gateway) loses(frame []byte) bool {
	g.mu.Lock()
	lose := g.lose
	g.mu.Unlock()
	return lose != nil && lose(frame)
}

// Renew closes all open connections, and sets the fault for the requests on later ones. No request on a connection
// that is closed meets it: its answer would be lost.
func (g *Gateway) Renew(f Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = f
	g.epoch++
	g.server.CloseClientConnections()
}

// Seen returns the requests since the last call, in order of arrival.
func (g *Gateway) Seen() []Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := g.seen
	g.seen = nil
	return out
}

// Close ends the gateway and its connections.
func (g *Gateway) Close() {
	g.server.CloseClientConnections()
	g.server.Close()
	g.rest()
}

// Answer writes a Status as an API server does. A retryAfter of zero is left out; otherwise it is
// written in whole seconds, rounded up.
func Answer(w http.ResponseWriter, code int, reason metav1.StatusReason, message string, retryAfter time.Duration) {
	if retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((retryAfter+time.Second-1)/time.Second)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}
