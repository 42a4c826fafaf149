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

// direct is a transport that hands requests to a server of the same process. Bodies are streams of bytes, as over a
// connection; there are no lines of HTTP, which cost more than the server does.
//
//	RoundTrip ──▶ goroutine: ServeHTTP ──▶ exchange ──▶ Response.Body
//	                                         │ at most maxAhead bytes wait for the reader
type direct struct {
	server *web.Server

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// maxAhead is how much of an answer that is flushed may wait for its reader: what a connection would hold.
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

	ctx, cancel := context.WithCancel(req.Context())
	x := &exchange{header: http.Header{}, ready: make(chan struct{}), cancel: cancel}
	x.moved.L = &x.mu
	asked := req.WithContext(ctx)
	asked.RequestURI = req.URL.RequestURI()
	if asked.Host == "" {
		asked.Host = req.URL.Host
	}
	if asked.Body == nil {
		asked.Body = http.NoBody
	}
	d.server.ConnState(x, http.StateNew)
	serve := func() {
		defer d.running.Done()
		defer d.server.ConnState(x, http.StateClosed)
		defer closeBody(req)
		x.serve(d.server, asked)
	}
	if d.server.AnswersAtOnce(asked) {
		serve() // another goroutine would cost as much as the answer
	} else {
		go serve()
	}
	select {
	case <-x.ready:
	case <-req.Context().Done():
		x.end(context.Cause(req.Context()))
		return nil, context.Cause(req.Context())
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.code == 0 {
		return nil, x.err // it ended before its header
	}
	if !x.done {
		x.stop = context.AfterFunc(req.Context(), func() { x.end(context.Cause(req.Context())) })
	}
	if req.Method == http.MethodHead {
		x.buffer.Reset()
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", x.code, http.StatusText(x.code)), StatusCode: x.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: x.sent, Body: body{x}, ContentLength: -1, Request: req,
	}, nil
}

// CloseIdleConnections is that of [http.Transport]. There are none.
func (*direct) CloseIdleConnections() {}

// close refuses requests from now on, and waits for those that run.
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

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // it was read
	}
}

// exchange is one request and its answer: a writer for the server, a reader for the client. To the server it is
// also a connection that can be cut.
type exchange struct {
	net.Conn // nothing of it but Close is used
	header   http.Header
	cancel   context.CancelFunc
	ready    chan struct{} // closed with the header, or with the end

	mu     sync.Mutex
	moved  sync.Cond // the buffer has changed, or the exchange has ended
	code   int
	sent   http.Header
	shown  bool // ready is closed
	buffer bytes.Buffer
	flowed bool  // the server has flushed
	done   bool  // the server has ended
	err    error // what the reader gets after the buffer; nil while there may be more
	stop   func() bool
}

var (
	_ http.ResponseWriter = (*exchange)(nil)
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
		if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			log.Printf("apiserver: panic serving %s %s: %v\n%s", req.Method, req.RequestURI, p, debug.Stack())
		}
		x.finish(io.ErrUnexpectedEOF)
	}()
	h.ServeHTTP(x, req)
}

// finish ends the exchange for the server.
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

// end ends the exchange: the reader gets what is there, and an error.
func (x *exchange) end(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil {
		x.err = err
		if !x.flowed && errors.Is(err, io.ErrUnexpectedEOF) {
			x.code, x.err = 0, io.EOF // nothing of it has left the server
		}
	}
	x.show()
	x.moved.Broadcast()
}

// show lets RoundTrip return. The caller holds the lock.
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
	if x.code == 0 {
		x.code, x.sent = code, x.header
	}
}

// Write waits while the reader has enough to read of an answer that flows.
func (x *exchange) Write(b []byte) (int, error) {
	x.WriteHeader(http.StatusOK)
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.err == nil && x.flowed && x.buffer.Len() >= maxAhead {
		x.moved.Wait()
	}
	if x.err != nil {
		return 0, x.err
	}
	return x.buffer.Write(b)
}

// FlushError lets the reader have what was written.
func (x *exchange) FlushError() error {
	x.WriteHeader(http.StatusOK)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.flowed = true
	x.show()
	x.moved.Broadcast()
	if x.err != nil && !x.done {
		return x.err
	}
	return nil
}

// Close cuts the exchange, as a connection is cut.
func (x *exchange) Close() error {
	x.end(io.ErrUnexpectedEOF)
	x.cancel()
	return nil
}

// body is what the client reads.
type body struct{ x *exchange }

func (b body) Read(p []byte) (int, error) {
	x := b.x
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.buffer.Len() == 0 && x.err == nil {
		x.moved.Wait()
	}
	if x.buffer.Len() > 0 && !errors.Is(x.err, errClosedBody) {
		n, err := x.buffer.Read(p)
		x.moved.Broadcast()
		return n, err
	}
	return 0, x.err
}

// Close ends the request.
func (b body) Close() error {
	b.x.end(errClosedBody)
	b.x.cancel()
	return nil
}

var errClosedBody = errors.New("apiserver: read on a body that was closed")
