package apiserver

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/flyball-io/flyball/internal/apiserver/web"
)

// atOnce passes a request to a server that answers it at once, and returns the whole answer.
func atOnce(server *web.Server, req *http.Request) (resp *http.Response, err error) {
	if req.Context().Err() != nil {
		return nil, context.Cause(req.Context())
	}
	a := &whole{wait: wait{Context: req.Context(), server: server}}
	defer func() {
		cut := a.wait.end()
		if p := recover(); p != nil || cut {
			if p != nil {
				report(p, req)
			}
			resp, err = nil, io.EOF // the server had sent nothing
		}
		if req.Context().Err() != nil {
			resp, err = nil, context.Cause(req.Context())
		}
	}()
	header := make(http.Header, 2)
	answer, err := server.AtOnce(&a.wait, req, header)
	if err != nil {
		return nil, err
	}
	if req.Method != http.MethodHead {
		a.rest = answer.Body
	}
	a.response = http.Response{
		Status: status(answer.Code), StatusCode: answer.Code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: a, ContentLength: -1, Request: req}
	return &a.response, nil
}

// whole is a request that is answered at once, and its response with the body.
type whole struct {
	wait     wait
	response http.Response
	rest     []byte // what of the body is not read
	closed   atomic.Bool
}

func (a *whole) Read(p []byte) (int, error) {
	if a.closed.Load() {
		return 0, errClosedBody
	}
	n := copy(p, a.rest)
	if a.rest = a.rest[n:]; len(a.rest) == 0 {
		return n, io.EOF
	}
	return n, nil
}

func (a *whole) Close() error {
	a.closed.Store(true)
	return nil
}

// wait is the context of a request that is answered at once. Few of them wait: for a webhook, or a latency. Those are
// connections to the server, which [web.Server.Restart] cuts.
type wait struct {
	context.Context // that of the client
	net.Conn        // only Close is used
	server          *web.Server

	mu     sync.Mutex
	limit  context.Context // nil if the request does not wait
	cancel context.CancelFunc
	cut    bool
}

var (
	_ context.Context = (*wait)(nil)
	_ net.Conn        = (*wait)(nil)
)

// Done implements [context.Context].
func (w *wait) Done() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limit == nil {
		w.limit, w.cancel = context.WithCancel(w.Context)
		w.server.ConnState(w, http.StateNew)
	}
	return w.limit.Done()
}

// Err implements [context.Context].
func (w *wait) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limit == nil {
		return w.Context.Err()
	}
	return w.limit.Err()
}

// Close cuts the request.
func (w *wait) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	w.cancel()
	return nil
}

// end ends the wait. It reports whether the request was cut.
func (w *wait) end() bool {
	w.mu.Lock()
	limit, cancel := w.limit, w.cancel
	w.mu.Unlock()
	if limit == nil {
		return false
	}
	w.server.ConnState(w, http.StateClosed)
	cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}
