package faults

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// echo is a server that sends each line back.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); io.Copy(c, c) }()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, p *Proxy) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, bufio.NewReader(c)
}

func newProxy(t *testing.T) *Proxy {
	t.Helper()
	p, err := NewProxy(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func line(t *testing.T, c net.Conn, r *bufio.Reader, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s+"\n"); err != nil {
		t.Fatal(err)
	}
	got, err := r.ReadString('\n')
	if err != nil || got != s+"\n" {
		t.Fatalf("read %q, %v; want %q", got, err, s)
	}
}

func TestProxyForwardsAndResets(t *testing.T) {
	p := newProxy(t)
	c, r := dial(t, p)
	line(t, c, r, "hello")
	p.Reset()
	if _, err := r.ReadByte(); err == nil || errors.Is(err, io.EOF) {
		t.Fatalf("after a reset the read ended with %v, want a reset", err)
	}
	if p.Opened() != 1 {
		t.Fatalf("opened %d connections, want 1", p.Opened())
	}
}

func TestProxyBlackholeHoldsBytesUntilHealed(t *testing.T) {
	p := newProxy(t)
	c, r := dial(t, p)
	line(t, c, r, "before")
	p.Blackhole(Down)
	io.WriteString(c, "during\n")
	c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := r.ReadByte(); !errors.Is(err, errTimeout(err)) {
		t.Fatalf("a byte came through a blackhole: %v", err)
	}
	p.Heal()
	c.SetReadDeadline(time.Time{})
	got, err := r.ReadString('\n')
	if err != nil || got != "during\n" {
		t.Fatalf("after healing: %q, %v", got, err)
	}
}

// errTimeout returns err if it is a timeout, and another error if it is not.
func errTimeout(err error) error {
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		return err
	}
	return io.ErrNoProgress
}

func TestProxyCutsOnceAfterNBytes(t *testing.T) {
	p := newProxy(t)
	c, r := dial(t, p)
	p.CutAfter(3)
	io.WriteString(c, "hello\n")
	got, err := io.ReadAll(r)
	if len(got) > 3 || err == nil {
		t.Fatalf("read %q, %v; want at most 3 bytes and a reset", got, err)
	}
	c, r = dial(t, p)
	line(t, c, r, "again")
}

func TestProxyRefusesConnections(t *testing.T) {
	p := newProxy(t)
	p.Refuse()
	if c, err := net.Dial("tcp", p.Addr()); err == nil { // or the reset came first
		defer c.Close()
		io.WriteString(c, "hello\n")
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Fatal("a refused connection answered")
		}
	}
	p.Heal()
	c, r := dial(t, p)
	line(t, c, r, "hello")
}

func TestGatewayPassesOnAndAnswersInstead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "server "+r.URL.Path)
	}))
	defer server.Close()
	g, err := NewGateway(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	get := func() (int, string, http.Header) {
		resp, err := http.Get(g.Config().Host + "/api/v1/pods?watch=true")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b), resp.Header
	}
	if code, body, _ := get(); code != 200 || body != "server /api/v1/pods" {
		t.Fatalf("passed on: %d %q", code, body)
	}
	g.Break(func(w http.ResponseWriter, r *http.Request) bool {
		Answer(w, 429, metav1.StatusReasonTooManyRequests, "later", 1500*time.Millisecond)
		return true
	})
	if code, _, h := get(); code != 429 || h.Get("Retry-After") != "2" {
		t.Fatalf("answered instead: %d, Retry-After %q", code, h.Get("Retry-After"))
	}
	seen := g.Seen()
	if len(seen) != 2 || !seen[0].Watch() || seen[1].Path != "/api/v1/pods" {
		t.Fatalf("seen %+v", seen)
	}
}

// A client asks all the time, on new and on kept connections. It meets each fault that is for one request.
func TestGatewayLosesNoFault(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	g, err := NewGateway(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	const faults = 200
	met, next := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(met)
		for n := 0; n < faults && t.Context().Err() == nil; {
			resp, err := http.Get(g.Config().Host)
			if err != nil {
				continue
			}
			resp.Body.Close()
			if resp.StatusCode == http.StatusTeapot {
				n++
				select {
				case next <- struct{}{}:
				case <-t.Context().Done():
				}
			}
		}
	}()
	for i := range faults {
		var once atomic.Bool
		g.Renew(func(w http.ResponseWriter, _ *http.Request) bool {
			first := once.CompareAndSwap(false, true)
			if first {
				w.WriteHeader(http.StatusTeapot)
			}
			return first
		})
		select {
		case <-next:
		case <-time.After(5 * time.Minute):
			t.Fatalf("fault %d was met by nobody", i)
		}
	}
	<-met
}
