package web

import (
	"context"
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
		if r := h.call(context.Background(), rules.Call{Key: "k", Method: http.MethodPost, URL: hook.URL, Timeout: int64(time.Minute)}); r.Code != http.StatusOK {
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
	case <-time.After(10 * time.Second):
		t.Error("a connection is open")
	}
}
