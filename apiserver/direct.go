package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"sync"

	"github.com/flyball-io/flyball/internal/apiserver/web"
)

// direct is a transport that passes requests to a server of the same process. Bodies are streams of bytes, as over a
// connection. Requests are not written as HTTP text, which would cost more than the server does.
//
//	RoundTrip ──▶ AtOnce: the whole answer ──────────▶ Response.Body
//	    │                                                  ▲
//	    └──▶ goroutine: ServeHTTP ──▶ exchange ────────────┘
//	                                    │ at most maxAhead unread bytes
type direct struct {
	server *web.Server

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// maxAhead bounds the unread bytes of a flushed answer, as the buffers of a connection do.
const maxAhead = 64 << 10

var errRefused = &net.OpError{Op: "dial", Net: "memory", Addr: address{}, Err: errors.New("connection refused: the server is closed")}

// RoundTrip implements [http.RoundTripper].
func (d *direct) RoundTrip(req *http.Request) (*http.Response, error) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		closeBody(req)
		return nil, errRefused
	}
	d.running.Add(1)
	d.mu.Unlock()

	if present(req) && d.server.AnswersAtOnce(req) {
		defer d.running.Done()
		defer closeBody(req)
		return atOnce(d.server, req) // another goroutine would cost as much as the answer
	}
	ctx, cancel := context.WithCancel(req.Context())
	x := &exchange{header: http.Header{}, ready: make(chan struct{}), cancel: cancel}
	x.moved.L = &x.mu
	asked := req.WithContext(ctx)
	d.server.ConnState(x, http.StateNew)
	closed := sync.OnceFunc(func() { closeBody(req) })
	if !present(req) {
		context.AfterFunc(ctx, closed) // so that nobody reads it for ever
	}
	go func() {
		defer d.running.Done()
		defer d.server.ConnState(x, http.StateClosed)
		defer closed()
		x.serve(d.server, asked)
	}()
	select {
	case <-x.ready:
	case <-req.Context().Done():
		x.end(context.Cause(req.Context()))
		return nil, context.Cause(req.Context())
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.code == 0 {
		return nil, x.err // the exchange ended before its header
	}
	if !x.done {
		x.stop = context.AfterFunc(req.Context(), func() { x.end(context.Cause(req.Context())) })
	}
	if req.Method == http.MethodHead {
		x.queue = queue{}
	}
	return &http.Response{
		Status: status(x.code), StatusCode: x.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: x.sent, Body: body{x}, ContentLength: -1, Request: req,
	}, nil
}

// CloseIdleConnections does nothing: there are no connections. Clients call it on their transports.
func (*direct) CloseIdleConnections() {}

// close refuses new requests, and waits for those that run, until ctx ends.
func (d *direct) close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		d.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// report logs a panic of the server that is no end of a connection.
func report(p any, req *http.Request) {
	if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
		log.Printf("apiserver: panic serving %s %s: %v\n%s", req.Method, req.URL.RequestURI(), p, debug.Stack())
	}
}

// status returns the status of a response with a code.
func status(code int) string {
	switch code {
	case http.StatusOK:
		return "200 OK" // most are
	case http.StatusCreated:
		return "201 Created"
	}
	return fmt.Sprintf("%d %s", code, http.StatusText(code))
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // it was read, or nobody wants the rest
	}
}

// present reports whether a request has its whole body in memory, so that to read it takes no time. [http.NewRequest]
// then sets GetBody.
func present(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// exchange is one request and its answer. The server writes to it, and the client reads from it. To the server it is
// also the connection of the request, which [web.Server.Restart] cuts by Close.
type exchange struct {
	net.Conn // only Close is used
	header   http.Header
	cancel   context.CancelFunc
	ready    chan struct{} // closed when the header is there, or at the end

	mu     sync.Mutex
	moved  sync.Cond // signals that the buffer has changed, or that the exchange has ended
	code   int
	sent   http.Header
	shown  bool // whether ready is closed
	queue  queue
	flowed bool  // whether the server has flushed
	done   bool  // whether the handler has returned
	err    error // the reader's error after the buffer; nil while more may be written
	stop   func() bool
}

var (
	_ http.ResponseWriter = (*exchange)(nil)
	_ web.Sharer          = (*exchange)(nil)
	_ net.Conn            = (*exchange)(nil)
)

// serve runs the handler.
func (x *exchange) serve(h http.Handler, req *http.Request) {
	defer func() {
		p := recover()
		if p == nil {
			x.WriteHeader(http.StatusOK)
			x.finish(io.EOF)
			return
		}
		report(p, req)
		x.finish(io.ErrUnexpectedEOF)
	}()
	h.ServeHTTP(x, req)
}

// finish ends the exchange when the handler has returned, or has cut the connection.
func (x *exchange) finish(err error) {
	x.mu.Lock()
	x.done = true
	stop := x.stop
	x.mu.Unlock()
	x.end(err)
	x.cancel()
	if stop != nil {
		stop()
	}
}

// end ends the exchange with an error. The reader gets the error after the bytes in the buffer.
func (x *exchange) end(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil {
		x.err = err
		if !x.flowed && errors.Is(err, io.ErrUnexpectedEOF) {
			x.code, x.err = 0, io.EOF // the server had sent nothing
		}
	}
	x.show()
	x.moved.Broadcast()
}

// show makes RoundTrip return. The caller holds the lock.
func (x *exchange) show() {
	if !x.shown {
		x.shown = true
		close(x.ready)
	}
}

// Header returns the header that is to be sent. What changes after that was sent is not seen.
func (x *exchange) Header() http.Header {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.code != 0 {
		return x.sent.Clone()
	}
	return x.header
}

func (x *exchange) WriteHeader(code int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begin(code)
}

// begin sets the header that is sent, once. The caller holds the lock.
func (x *exchange) begin(code int) {
	if x.code == 0 {
		x.code, x.sent = code, x.header
	}
}

// Write appends to the answer. After a flush it waits while maxAhead bytes are unread.
func (x *exchange) Write(b []byte) (int, error) { return x.WriteShared(bytes.Clone(b)) }

// WriteShared implements [web.Sharer].
func (x *exchange) WriteShared(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begin(http.StatusOK)
	for x.err == nil && x.flowed && x.queue.unread >= maxAhead {
		x.moved.Broadcast() // the reader may wait for a flush
		x.moved.Wait()
	}
	if x.err != nil {
		return 0, x.err
	}
	x.queue.add(b)
	return len(b), nil
}

// FlushError makes the written bytes readable.
func (x *exchange) FlushError() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begin(http.StatusOK)
	x.flowed = true
	x.show()
	x.moved.Broadcast()
	if x.err != nil && !x.done {
		return x.err
	}
	return nil
}

// Close cuts the exchange, as a reset cuts a connection.
func (x *exchange) Close() error {
	x.end(io.ErrUnexpectedEOF)
	x.cancel()
	return nil
}

// body is the body of the response.
type body struct{ x *exchange }

func (b body) Read(p []byte) (int, error) {
	x := b.x
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.queue.unread == 0 && x.err == nil {
		x.moved.Wait()
	}
	if x.queue.unread > 0 && !errors.Is(x.err, errClosedBody) {
		n := x.queue.read(p)
		x.moved.Broadcast()
		return n, nil
	}
	return 0, x.err
}

// Close cancels the request.
func (b body) Close() error {
	b.x.end(errClosedBody)
	b.x.cancel()
	return nil
}

var errClosedBody = errors.New("apiserver: read on a body that was closed")
