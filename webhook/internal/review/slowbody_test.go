package review

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// one is a listener with a single connection.
type one struct {
	conn chan net.Conn
	done chan struct{}
}

func (l one) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l one) Close() error   { close(l.done); return nil }
func (l one) Addr() net.Addr { return &net.TCPAddr{} }

// A body that arrives byte by byte is given up in time, also in a server without timeouts. The bound on the body does
// not end a handler, and not the next request of the connection.
func TestSlowBodiesAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		timeout time.Duration // of Limits
		read    time.Duration // of the server
		query   string
		every   time.Duration // between two of the ten bytes of the body
		work    time.Duration // of the handler
		code    int           // zero: no answer in the first ten minutes
		after   time.Duration
	}{
		"slow":                         {timeout: time.Second, every: 300 * time.Millisecond, code: 408, after: time.Second},
		"slow, for 30 s by default":    {every: time.Minute, code: 408, after: 30 * time.Second},
		"as the caller's timeout says": {query: "?timeout=2s", every: time.Second, code: 408, after: 1800 * time.Millisecond},
		"as the server says":           {timeout: time.Second, read: 5 * time.Second, every: time.Second, code: 408, after: 5 * time.Second},
		"without any bound":            {timeout: -1, every: time.Minute + time.Second},
		"in time":                      {timeout: time.Second, every: 90 * time.Millisecond, work: 900 * time.Millisecond, code: 200, after: 1800 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := endpoint(func(ctx context.Context, _ []byte) error {
					select {
					case <-time.After(tc.work):
						return nil
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}, Options{Limits: Limits{Timeout: tc.timeout}})
				server := &http.Server{Handler: e, ReadTimeout: tc.read}
				near, far := net.Pipe()
				l := one{make(chan net.Conn, 1), make(chan struct{})}
				l.conn <- far
				var all sync.WaitGroup
				defer all.Wait()
				all.Go(func() { _ = server.Serve(l) })
				defer server.Close()
				defer near.Close()

				began := time.Now()
				send := func() {
					_, _ = fmt.Fprintf(near, "POST /%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n1", tc.query)
					for range 10 {
						time.Sleep(tc.every)
						if _, err := near.Write([]byte("1")); err != nil {
							return
						}
					}
				}
				all.Go(send)
				answers := bufio.NewReader(near)
				_ = near.SetReadDeadline(began.Add(10 * time.Minute))
				got, err := http.ReadResponse(answers, nil)
				switch {
				case tc.code == 0:
					if err == nil {
						t.Errorf("%d after %v", got.StatusCode, time.Since(began))
					}
					return
				case err != nil:
					t.Fatal(err)
				case got.StatusCode != tc.code || time.Since(began) != tc.after:
					t.Errorf("%d after %v, want %d after %v", got.StatusCode, time.Since(began), tc.code, tc.after)
				}
				if tc.code != 200 {
					return
				}
				_, _ = io.Copy(io.Discard, got.Body)
				time.Sleep(time.Hour)
				all.Go(send)
				_ = near.SetReadDeadline(time.Time{})
				if got, err = http.ReadResponse(answers, nil); err != nil || got.StatusCode != 200 {
					t.Errorf("the next request: %v %v", got, err)
				}
			})
		})
	}
}
