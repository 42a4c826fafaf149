package faults

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Fault answers a request in the server's place and reports whether it did.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// Gateway is an HTTP server in front of an API server. It passes requests on, with the
// credentials of the configuration it was made from, unless a Fault takes them.
type Gateway struct {
	server *httptest.Server

	mu    sync.Mutex
	fault Fault
	lose  func(frame []byte) bool
	seen  []Request
}

// Request is what the gateway remembers of one request.
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
	target, err := url.Parse(to.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(to)
	if err != nil {
		return nil, err
	}
	g := &Gateway{}
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
		ErrorLog: log.New(io.Discard, "", 0), // what breaks is meant to
	}
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.seen = append(g.seen, Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.Query()})
		fault := g.fault
		g.mu.Unlock()
		if fault != nil && fault(w, r) {
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	return g, nil
}

// Config reaches the API server through the gateway.
func (g *Gateway) Config() *rest.Config { return &rest.Config{Host: g.server.URL} }

// Break sets the fault for the requests from now on; nil heals.
func (g *Gateway) Break(f Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = f
}

// Lose asks f about each frame of a watch from now on, and lets none pass that it says so of; nil heals.
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

// Drop closes the connections that are open now.
func (g *Gateway) Drop() { g.server.CloseClientConnections() }

// Seen returns the requests so far, in order of arrival, and forgets them.
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
}

// Answer writes a Status as an API server does. retryAfter is left out when zero; it is written
// in whole seconds, rounded up.
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
