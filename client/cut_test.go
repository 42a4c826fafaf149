package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// network stands between the system calls and the server. While it is cut, the system keeps the bytes
// that are sent, until the network heals or the connection is reset.
type network struct {
	mu    sync.Mutex
	isCut bool
	conns []*heldConn
	held  chan int // receives the number of bytes of each piece that is kept
}

func (n *network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	h := &heldConn{TCPConn: c.(*net.TCPConn), n: n}
	n.conns = append(n.conns, h)
	return h, nil
}

func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isCut = true
}

func (n *network) heal(t *testing.T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isCut = false
	for _, c := range n.conns {
		if len(c.kept) > 0 && !c.dropped {
			if _, err := c.TCPConn.Write(c.kept); err != nil && !errors.Is(err, net.ErrClosed) { // what is closed sends nothing
				t.Error(err)
			}
		}
	}
}

// heldConn does not close the real connection while it keeps bytes, like the system.
type heldConn struct {
	*net.TCPConn
	n       *network
	kept    []byte
	dropped bool
}

func (c *heldConn) Write(p []byte) (int, error) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if !c.n.isCut {
		return c.TCPConn.Write(p)
	}
	c.kept = append(c.kept, p...)
	select {
	case c.n.held <- len(p):
	default:
	}
	return len(p), nil
}

func (c *heldConn) SetLinger(sec int) error {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	c.dropped = c.dropped || sec == 0
	return c.TCPConn.SetLinger(sec)
}

// A write is in the send buffer of the system when the fence closes. With the cut it does not arrive when
// the network heals; without the cut it does. Watches and reads continue.
func TestCutStopsBufferedWrites(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		for cuts, arrive := range map[bool]int32{true: 0, false: 1} {
			t.Run(name, func(t *testing.T) {
				f := newFake(t)
				f.on("PUT /api/v1/namespaces/web/pods/a", reply(pod("a"), podGVK))
				f.on("GET /api/v1/namespaces/web/pods/a", reply(pod("a"), podGVK))
				var late atomic.Int32
				healed := make(chan struct{})
				arrived := make(chan struct{}, 1)
				srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					select {
					case <-healed:
						if r.Method == http.MethodPut {
							late.Add(1)
							arrived <- struct{}{}
						}
					default:
					}
					f.ServeHTTP(w, r)
				}))
				srv.EnableHTTP2 = http2
				srv.Config.ErrorLog = discardLog
				srv.StartTLS()
				defer srv.Close()
				n := &network{held: make(chan int, 1000)}
				c, err := New(&rest.Config{Host: srv.URL, Dial: n.dial, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				var closed atomic.Bool
				fenced := c.Fenced(func(Call) error {
					if closed.Load() {
						return errTest
					}
					return nil
				})
				if _, err := Update(t.Context(), fenced, pod("a")); err != nil {
					t.Fatal(err)
				}
				n.cut()
				out := make(chan error, 1)
				large := pod("a")
				large.Annotations = map[string]string{"large": strings.Repeat("x", 4<<10)}
				go func() {
					_, err := Update(t.Context(), fenced, large)
					out <- err
				}()
				for <-n.held < 3<<10 { // what is no part of the write is smaller, such as the first message of another connection
				}
				closed.Store(true)
				if cuts {
					fenced.CutWrites()
					err := <-out
					if _, ok := errors.AsType[*UnavailableError](err); !ok || !errors.Is(err, errCut) {
						t.Errorf("the write: %v", err)
					}
				}
				close(healed)
				n.heal(t)
				if !cuts {
					if err := <-out; err != nil {
						t.Fatalf("the write has not arrived: %v", err)
					}
					<-arrived
				}
				if _, err := Get[corev1.Pod](t.Context(), fenced, key("a")); err != nil {
					t.Errorf("a read afterwards: %v", err)
				}
				if _, err := Update(t.Context(), fenced, pod("a")); !errors.Is(err, errTest) {
					t.Errorf("a write afterwards: %v", err)
				}
				closed.Store(false)
				if arrive == 0 && late.Load() != 0 {
					t.Error("the write arrived after the loss")
				}
				if cuts {
					if _, err := Update(t.Context(), fenced, pod("a")); err != nil {
						t.Errorf("a write once the fence is open again: %v", err)
					}
				}
			})
		}
	}
}
