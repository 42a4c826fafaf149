// Package rules asks the rules program, which answers requests of the Kubernetes API by the real
// strategies. All clients of a user share one process of it: an answer depends on nothing but its [Request].
//
//	Client.Do ──▶ frame ──▶ unix   ┌───────────────┐
//	          ◀── frame ◀── socket │ rules program │   one goroutine of the client reads answers
//	other processes ──────▶        └───────────────┘
//
// The first client starts the process, and it ends when it has had no client for some seconds. Where there can be no
// socket, a client has a process of its own, and speaks with it over pipes.
//
// A process that ends is started again. Each request that it has not answered is then asked once more, of a process of
// the client's own: a request that crashes every program takes no other with it. Its error has the last lines of the
// log.
package rules

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

var (
	// errClosed is the error of requests after Close.
	errClosed = errors.New("rules: the client is closed")
	// errNobody says that no process listens.
	errNobody = errors.New("no rules program listens")
)

// defaultIdle is long enough for "go test" to link the next test binary.
const defaultIdle = 10 * time.Second

// Options configures a client. The zero value is that of a client with a process of its own.
type Options struct {
	// Socket names the unix socket of the process that clients share. Clients with equal sockets must have equal
	// programs. Its folder is created if necessary; other users may not have access to it. "" shares nothing.
	Socket string
	// Idle is the time after which the process ends when no client is connected. The client that starts the process
	// decides. Zero means 10 seconds.
	Idle time.Duration
	// Frame is the most bytes of a request or an answer on the way; a larger one is an error of [Client.Do]. Clients of one
	// Socket must have the same. Zero means [MaxFrame].
	Frame int
}

// Client asks the rules program. It is safe for concurrent use. It must be closed.
type Client struct {
	binary  string
	options Options

	mu     sync.Mutex
	run    *conn
	own    bool // shares nothing any more
	vain   int  // how many shared connections in a row had no answer
	closed bool

	again again
}

// New returns a client of the rules program in the file binary. The first request starts the program if it does not
// run yet.
func New(binary string, o Options) *Client {
	if whole, err := filepath.Abs(binary); err == nil {
		binary = whole // the program works in another folder
	}
	o.Idle, o.Frame = cmp.Or(o.Idle, defaultIdle), cmp.Or(o.Frame, MaxFrame)
	return &Client{binary: binary, options: o, own: o.Socket == ""}
}

// Do returns the answer to a request. Concurrent requests are answered concurrently. It blocks until the program
// answers, or has ended twice. [ErrTooLarge] is an error of this request alone.
func (c *Client) Do(req *Request) (*Answer, error) {
	p, err := c.running()
	if err != nil {
		return nil, err
	}
	answer, err := p.do(req)
	if err == nil || errors.Is(err, ErrTooLarge) {
		return answer, err
	}
	c.forget(p)
	answer, err = c.again.do(c, req)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		c.keepApart()
	}
	return answer, err
}

// running returns the connection to the process, which is started if necessary.
func (c *Client) running() (*conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.run == nil && !c.own {
		var err error
		c.run, err = shared(c.binary, c.options)
		c.own = err != nil
	}
	if c.run == nil {
		p, err := c.start()
		if err != nil {
			return nil, err
		}
		c.run = p
	}
	return c.run, nil
}

func (c *Client) start() (*conn, error) {
	p, _, err := own(c.binary, c.options.Frame)
	if err != nil {
		return nil, fmt.Errorf("rules: start of the rules program: %w", err)
	}
	return p, nil
}

// maxVain bounds the shared connections in a row that end without an answer. A process that was about to end takes one
// with it; more of them say that the program cannot be shared.
const maxVain = 3

// forget drops a connection that has ended, so that the next request makes another one.
func (c *Client) forget(p *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run != p {
		return
	}
	c.run = nil
	if c.vain++; p.useful() {
		c.vain = 0
	}
	c.own = c.own || c.vain >= maxVain
}

// keepApart makes later requests go to a process of the client's own: one of them may crash that, too.
func (c *Client) keepApart() {
	c.mu.Lock()
	p := c.run
	if c.own {
		p = nil
	} else {
		c.own, c.run = true, nil
	}
	c.mu.Unlock()
	if p != nil {
		p.close()
	}
}

// Close ends the connection to the program, and waits for the end of a process of its own. Requests that wait for an
// answer fail.
func (c *Client) Close() {
	c.mu.Lock()
	p := c.run
	c.run, c.closed = nil, true
	c.mu.Unlock()
	if p != nil {
		p.close()
	}
	c.again.end()
}

// again repeats requests, one at a time, by a process of their own. It ends when none waits.
type again struct {
	count sync.Mutex
	wants int

	mu  sync.Mutex // held while a request is repeated
	run *conn
}

func (a *again) do(c *Client, req *Request) (*Answer, error) {
	a.want(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, err := a.ask(c, req)
	if last := a.want(-1) == 0; a.run != nil && (last || err != nil) {
		a.run.close()
		a.run = nil
	}
	return answer, err
}

func (a *again) ask(c *Client, req *Request) (*Answer, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	if a.run == nil {
		p, err := c.start()
		if err != nil {
			return nil, err
		}
		a.run = p
	}
	answer, err := a.run.do(req)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return nil, fmt.Errorf("rules: %s %s was asked twice and ended the rules program twice: %w", req.Method, req.URL, err)
	}
	return answer, err
}

// want adds to the number of requests that are to be repeated, and returns it.
func (a *again) want(n int) int {
	a.count.Lock()
	defer a.count.Unlock()
	a.wants += n
	return a.wants
}

// end waits for the request that is being repeated, and ends the process. The client must be closed.
func (a *again) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run != nil { // other requests wait
		a.run.close()
		a.run = nil
	}
}
