package apiserver

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// pipes is a listener without a port. Its connections are pairs of pipes.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "localhost" }

// dial connects to the listener, whatever the address is.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: address{}, Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// outside runs functions on goroutines outside of all bubbles of testing/synctest. All tests share the rules program,
// so the goroutines that read its answers cannot be in the bubble of one test. work is nil unless [Wrap] runs.
var outside struct {
	sync.Mutex
	work chan func()
}

var errBubble = errors.New("apiserver: a server inside a bubble of testing/synctest needs goroutines outside of it: let TestMain run the tests by apiserver.Wrap(m)")

// inBubble reports whether the caller is in a bubble. Its clock begins in the year 2000.
func inBubble() bool { return time.Now().Year() < 2020 }

// faultTime returns the least time of a request that goes wrong. In a bubble it is not zero: the informers of client-go
// repeat some requests at once, and virtual time would stand still for ever.
func faultTime() time.Duration {
	if inBubble() {
		return 100 * time.Millisecond
	}
	return 0
}

// runOutside runs a function outside of all bubbles and waits for it. The caller waits by a mutex: virtual time stands
// still meanwhile, which it would not at a channel.
func runOutside(f func()) error {
	outside.Lock()
	work := outside.work
	outside.Unlock()
	if work == nil {
		return errBubble
	}
	var done sync.Mutex
	done.Lock()
	work <- func() { defer done.Unlock(); f() }
	done.Lock()
	return nil
}

// serveOutside starts the goroutine for runOutside. stop ends it, and waits for the functions that run.
func serveOutside() (stop func()) {
	work := make(chan func())
	outside.Lock()
	outside.work = work
	outside.Unlock()
	var running sync.WaitGroup
	running.Go(func() {
		for f := range work {
			running.Go(f)
		}
	})
	return func() {
		outside.Lock()
		outside.work = nil
		outside.Unlock()
		close(work)
		running.Wait()
	}
}

// asked calls the rules client from inside a bubble.
type asked struct{ client *rules.Client }

func (a asked) do(req *rules.Request) (answer *rules.Answer, err error) {
	if failed := runOutside(func() { answer, err = a.client.Do(req) }); failed != nil {
		return nil, failed
	}
	return answer, err
}
