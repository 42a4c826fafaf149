package client

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/ctxkey"
	"github.com/flyball-io/flyball/run"
)

// errHung is the error for a transport that does not return when its request ends.
var errHung = errors.New("the transport does not return: a credential plugin, a file, a dialer or a wrapper of it hangs")

const (
	// hangGrace is how long a request waits for its transport after its context has ended.
	hangGrace = 250 * time.Millisecond
	// maxHung is the number of hung requests above which others wait.
	maxHung = 64
)

// trips passes requests to transports which may ignore the context of a request. A request whose transport
// hangs is abandoned when its context ends: its goroutine lives until the transport returns.
type trips struct {
	mu   sync.Mutex
	hung int
	less chan struct{} // closed when a hung request has ended; nil: nobody waits
}

// tripEnd is what a transport returned.
type tripEnd struct {
	resp *http.Response
	err  error
}

// do calls trip, which passes a request to a transport, and returns its result, or errHung.
func (t *trips) do(ctx context.Context, trip func() (*http.Response, error)) (*http.Response, error) {
	if err := t.admit(ctx); err != nil {
		return nil, err
	}
	if ctxkey.Turn(ctx) != nil { // a simulation hangs nowhere, and names the line that calls
		return trip()
	}
	returned := make(chan tripEnd)
	abandoned := make(chan struct{})
	go func() {
		a := tripEnd{err: errHung} // a transport may end its goroutine
		defer func() {
			select {
			case returned <- a:
			case <-abandoned:
				t.ended(a.resp)
			}
		}()
		if err := run.Safely("transport", func() (err error) { a.resp, a.err = trip(); return nil }); err != nil {
			a.err = err
		}
	}()
	select {
	case a := <-returned:
		return a.resp, a.err
	case <-ctx.Done():
	}
	grace := time.NewTimer(hangGrace)
	defer grace.Stop()
	select {
	case a := <-returned:
		return a.resp, a.err
	case <-grace.C:
		t.mu.Lock()
		t.hung++
		t.mu.Unlock()
		close(abandoned)
		return nil, errHung
	}
}

// admit waits while too many requests hang.
func (t *trips) admit(ctx context.Context) error {
	for {
		t.mu.Lock()
		if t.hung < maxHung {
			t.mu.Unlock()
			return nil
		}
		if t.less == nil {
			t.less = make(chan struct{})
		}
		less := t.less
		t.mu.Unlock()
		select {
		case <-less:
		case <-ctx.Done():
			return errHung
		}
	}
}

// ended follows the return of a transport whose request was abandoned.
func (t *trips) ended(resp *http.Response) {
	if resp != nil {
		resp.Body.Close()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hung--
	if t.less != nil {
		close(t.less)
		t.less = nil
	}
}

// Hung returns how many requests have ended whose transport has not returned yet. Each keeps a goroutine.
// It is more than zero if a credential plugin, the read of a file, a dialer or a wrapper of the transport
// hangs.
func (c *Live) Hung() int {
	c.link.trips.mu.Lock()
	defer c.link.trips.mu.Unlock()
	return c.link.trips.hung
}
