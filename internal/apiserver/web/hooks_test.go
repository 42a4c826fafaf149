package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// A request that was under way when the server was closed may call webhooks afterwards. It leaves no connection behind.
func TestNoConnectionIsKeptAfterClose(t *testing.T) {
	var open atomic.Int64
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	ended := make(chan struct{}, 10)
	hook.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
			ended <- struct{}{}
		}
	}
	hook.Start()
	defer hook.Close()
	h := newHooks(nil)
	call := func() {
		t.Helper()
		if r := h.call(context.Background(), rules.Call{Key: "k", Method: http.MethodPost, URL: hook.URL, Timeout: int64(5 * time.Minute)}); r.Code != http.StatusOK {
			t.Fatalf("%+v", r)
		}
	}
	call()
	call()
	if n := open.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	h.close()
	<-ended
	call()
	select {
	case <-ended:
	case <-time.After(5 * time.Minute):
		t.Error("a connection is open")
	}
}

// Addresses that the server has given to Pods are never dialed on the network; those of this machine are. A function of
// the user decides on all of them.
func TestPodsAreNotDialed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	connect := func(h *hooks, addresses ...string) error {
		conn, err := h.connect(context.Background(), "tcp", "svc:443", addresses)
		if err == nil {
			conn.Close()
		}
		return err
	}
	pods := []string{"10.64.0.1:443", "10.127.255.254:8443", "[::ffff:10.100.1.2]:443"}
	h := newHooks(nil)
	if err := connect(h, pods...); !errors.Is(err, errNoContainer) {
		t.Errorf("Pods: %v", err)
	}
	for range pods { // whichever is tried first
		if err := connect(h, append(pods, l.Addr().String())...); err != nil {
			t.Error(err)
		}
	}
	var dialed []string
	own := newHooks(func(_ context.Context, _, address string) (net.Conn, error) {
		dialed = append(dialed, address)
		return net.Dial("tcp", l.Addr().String())
	})
	if err := connect(own, pods[0]); err != nil || len(dialed) != 1 {
		t.Errorf("%v, %q", err, dialed)
	}
}
