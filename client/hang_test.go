//go:build unix

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/flyball-io/flyball/internal/wire"
)

// pipe replaces a file by a pipe: who reads it hangs until release is called.
func pipe(t *testing.T, name string) (release func()) {
	t.Helper()
	_ = os.Remove(name)
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	done := false
	release = func() {
		if done {
			return
		}
		done = true
		// Opening for both directions does not block, and readers that wait get an end.
		if f, err := os.OpenFile(name, os.O_RDWR, 0); err == nil {
			_ = os.Remove(name)
			_, _ = f.WriteString("x")
			f.Close()
		}
	}
	t.Cleanup(release)
	return release
}

// hangs are the parts of a transport that can hang, each with a client in which it does.
func hangs(t *testing.T) map[string]func(t *testing.T, f *fake) *Live {
	serve := func(t *testing.T, f *fake) (*rest.Config, *atomic.Pointer[tls.Certificate], func()) {
		var cert atomic.Pointer[tls.Certificate]
		pair, ca := selfSigned(t)
		cert.Store(&pair)
		srv := serveTLS(t, f, &cert)
		srv.Config.SetKeepAlivesEnabled(false) // a handshake for each request
		name := file(t, filepath.Join(t.TempDir(), "ca.crt"), string(ca))
		cfg := &rest.Config{Host: srv.URL, TLSClientConfig: rest.TLSClientConfig{CAFile: name, NextProtos: []string{"http/1.1"}}}
		return cfg, &cert, func() { pipe(t, name) }
	}
	start := func(t *testing.T, cfg *rest.Config) *Live {
		c, err := New(cfg, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	forEver := func(t *testing.T) chan struct{} {
		stop := make(chan struct{})
		t.Cleanup(func() { close(stop) })
		return stop
	}
	return map[string]func(t *testing.T, f *fake) *Live{
		"a credential plugin": func(t *testing.T, f *fake) *Live {
			cfg, _, _ := serve(t, f)
			wait := filepath.Join(t.TempDir(), "wait")
			pipe(t, wait)
			cfg.ExecProvider = &api.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", Command: "cat", Args: []string{wait}, InteractiveMode: api.NeverExecInteractiveMode,
			}
			return start(t, cfg)
		},
		"a CA file that is needed": func(t *testing.T, f *fake) *Live {
			cfg, cert, hang := serve(t, f)
			c := start(t, cfg)
			pair, _ := selfSigned(t)
			cert.Store(&pair)
			hang()
			return c
		},
		"a token file": func(t *testing.T, f *fake) *Live {
			srv, token := tokenServer(t, f)
			token.Store("new")
			name := file(t, filepath.Join(t.TempDir(), "token"), "old")
			c := start(t, &rest.Config{Host: srv.URL, BearerTokenFile: name})
			pipe(t, name)
			return c
		},
		"a wrapper": func(t *testing.T, f *fake) *Live {
			cfg, _, _ := serve(t, f)
			stop := forEver(t)
			cfg.WrapTransport = func(rt http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) { <-stop; return rt.RoundTrip(r) })
			}
			return start(t, cfg)
		},
		"a transport": func(t *testing.T, f *fake) *Live {
			stop := forEver(t)
			return start(t, &rest.Config{Host: "http://fake.test", Transport: roundTripper(func(r *http.Request) (*http.Response, error) { <-stop; return f.RoundTrip(r) })})
		},
		"a dialer": func(t *testing.T, f *fake) *Live {
			cfg, _, _ := serve(t, f)
			stop := forEver(t)
			cfg.Dial = func(context.Context, string, string) (net.Conn, error) { <-stop; return nil, errTest }
			return start(t, cfg)
		},
	}
}

// Whatever part of a transport hangs, each call ends with its ctx, and nothing else hangs with it.
func TestCallsEndWhateverHangs(t *testing.T) {
	for name, hang := range hangs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			c := hang(t, f)
			fenced := c.Fenced(func(Call) error { return nil })
			for call, do := range map[string]func(ctx context.Context) error{
				"get":    func(ctx context.Context) error { _, err := Get[corev1.Pod](ctx, c, key("x")); return err },
				"create": func(ctx context.Context) error { _, err := Create(ctx, c, pod("x")); return err },
				"fenced": func(ctx context.Context) error { _, err := Create(ctx, fenced, pod("x")); return err },
				"list": func(ctx context.Context) error {
					_, err := c.Feed(podGVK, Selection{}).List(ctx, wire.ListQuery{})
					return err
				},
				"watch": func(ctx context.Context) error {
					_, err := c.Feed(podGVK, Selection{}).Watch(ctx, wire.WatchQuery{})
					return err
				},
				"mapping": func(ctx context.Context) error { _, err := c.Mapping(ctx, widgetGVK); return err },
				"served":  func(ctx context.Context) error { _, _, err := c.Feed(podGVK, Selection{}).Served(ctx); return err },
				"check":   c.Check,
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				begin := time.Now()
				ended := make(chan error, 1)
				go func() { ended <- do(ctx) }()
				select {
				case err := <-ended:
					// Discovery needs no token in the token server.
					if err == nil && name != "a token file" || err != nil && !errors.Is(err, context.DeadlineExceeded) && name != "a token file" {
						t.Errorf("%s: got %v after %v", call, err, time.Since(begin))
					}
				case <-time.After(time.Minute):
					t.Fatalf("%s: has not returned", call)
				}
				cancel()
				c.CutWrites()
				c.Close()
				_ = c.Hung()
			}
		})
	}
}

// A CA file that hangs delays no request while connections succeed.
func TestHungCAFileDelaysNobody(t *testing.T) {
	f := newFake(t)
	f.on("GET "+podPath, reply(pod("x"), podGVK))
	pair, ca := selfSigned(t)
	var cert atomic.Pointer[tls.Certificate]
	cert.Store(&pair)
	srv := serveTLS(t, f, &cert)
	name := file(t, filepath.Join(t.TempDir(), "ca.crt"), string(ca))
	c, err := New(&rest.Config{Host: srv.URL, TLSClientConfig: rest.TLSClientConfig{CAFile: name}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	release := pipe(t, name)
	c.link.transport.(*rotating).checked = time.Now().Add(-time.Hour)
	for range 3 {
		if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil {
			t.Fatal(err)
		}
	}
	release()
	if n := c.Hung(); n != 0 {
		t.Errorf("%d requests hang", n)
	}
}

// Requests that hang are bounded. Others wait, and go on when the transport returns. A transport that panics
// or ends its goroutine is a failure of its request.
func TestHungRequestsAreBounded(t *testing.T) {
	f := newFake(t)
	f.on("GET "+podPath, reply(pod("x"), podGVK))
	stop, calls := make(chan struct{}), atomic.Int64{}
	c := f.over(roundTripper(func(r *http.Request) (*http.Response, error) {
		if !isDiscovery(r.URL.Path) {
			calls.Add(1)
			<-stop
		}
		return f.RoundTrip(r)
	}), Options{})
	if _, err := c.Mapping(t.Context(), podGVK); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	for range 3 * maxHung {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			_, err := Get[corev1.Pod](ctx, c, key("x"))
			ended <- err
		}()
	}
	for range 3 * maxHung {
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	before := calls.Load()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	if _, err := Get[corev1.Pod](ctx, c, key("x")); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errHung) {
		t.Error(err)
	}
	cancel()
	if c.Hung() < maxHung || calls.Load() != before {
		t.Errorf("%d requests hang, and one more was sent", c.Hung())
	}
	close(stop)
	if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil {
		t.Error(err)
	}
	for c.Hung() > 0 {
		time.Sleep(time.Millisecond)
	}
}

func TestTransportsThatFail(t *testing.T) {
	f := newFake(t)
	for name, fail := range map[string]func(){"panics": func() { panic("oops") }, "ends": runtime.Goexit} {
		c := f.over(roundTripper(func(r *http.Request) (*http.Response, error) {
			if isDiscovery(r.URL.Path) {
				return f.RoundTrip(r)
			}
			fail()
			return nil, nil
		}), Options{})
		if _, err := Get[corev1.Pod](t.Context(), c, key("x")); !is[*UnavailableError](err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
