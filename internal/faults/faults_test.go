package faults

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// proxied is a proxy in front of a server that sends each line back.
type proxied struct {
	*Proxy
	t *testing.T
}

// onBoth runs a test with a proxy of TCP, and with one of pipes in a bubble.
func onBoth(t *testing.T, test func(t *testing.T, p proxied)) {
	t.Run("tcp", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		echo(t, l)
		p, err := NewProxy(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		test(t, proxied{p, t})
	})
	t.Run("pipe", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newPipes()
			echo(t, l)
			p := NewPipeProxy(l.dial)
			t.Cleanup(func() { p.Close() })
			test(t, proxied{p, t})
		})
	})
}

func echo(t *testing.T, l net.Listener) {
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
}

func (p proxied) dial() (net.Conn, *bufio.Reader) {
	p.t.Helper()
	c, err := p.Dial(p.t.Context(), "tcp", p.Addr())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	return c, bufio.NewReader(c)
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
	onBoth(t, func(t *testing.T, p proxied) {
		c, r := p.dial()
		line(t, c, r, "hello")
		p.Reset()
		if _, err := r.ReadByte(); err == nil || errors.Is(err, io.EOF) {
			t.Fatalf("after a reset the read ended with %v, want a reset", err)
		}
		if p.Opened() != 1 {
			t.Fatalf("opened %d connections, want 1", p.Opened())
		}
	})
}

// Bytes are held back by a blackhole, and come once it is healed. What is written meanwhile does not wait. By the real clock
// nobody can tell that nothing comes.
func TestProxyBlackholeHoldsBytesUntilHealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		echo(t, l)
		through := NewPipeProxy(l.dial)
		defer through.Close()
		p := proxied{through, t}
		c, r := p.dial()
		line(t, c, r, "before")
		p.Blackhole(Up)
		io.WriteString(c, "dur")
		io.WriteString(c, "ing\n")
		p.Blackhole(Down)
		c.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := r.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a byte came through a blackhole: %v", err)
		}
		p.Heal()
		c.SetReadDeadline(time.Time{})
		got, err := r.ReadString('\n')
		if err != nil || got != "during\n" {
			t.Fatalf("after healing: %q, %v", got, err)
		}
	})
}

func TestProxyCutsOnceAfterNBytes(t *testing.T) {
	onBoth(t, func(t *testing.T, p proxied) {
		c, r := p.dial()
		p.CutAfter(3)
		io.WriteString(c, "hello\n")
		got, err := io.ReadAll(r)
		if len(got) > 3 || err == nil {
			t.Fatalf("read %q, %v; want at most 3 bytes and a reset", got, err)
		}
		c, r = p.dial()
		line(t, c, r, "again")
	})
}

func TestProxyRefusesConnections(t *testing.T) {
	onBoth(t, func(t *testing.T, p proxied) {
		p.Refuse()
		if c, err := p.Dial(t.Context(), "tcp", p.Addr()); err == nil { // or the reset came first
			defer c.Close()
			io.WriteString(c, "hello\n")
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Fatal("a refused connection answered")
			}
		}
		p.Heal()
		c, r := p.dial()
		line(t, c, r, "hello")
	})
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
