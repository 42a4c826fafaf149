//go:build unix

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
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

// Requests that hang are bounded. Others wait, and go on when a transport returns.
func TestHungRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.on("GET "+podPath, reply(pod("x"), podGVK))
		stop := make(chan struct{})
		var sent atomic.Int64
		c := f.over(roundTripper(func(r *http.Request) (*http.Response, error) {
			if !isDiscovery(r.URL.Path) {
				sent.Add(1)
				<-stop
			}
			return f.RoundTrip(r)
		}), Options{})
		get := func(within time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			_, err := Get[corev1.Pod](ctx, c, key("x"))
			return err
		}
		var all sync.WaitGroup
		for range maxHung {
			all.Go(func() {
				if err := get(time.Second); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errHung) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if err := get(time.Second); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errHung) {
			t.Errorf("one more: %v", err)
		}
		time.AfterFunc(time.Second, func() {
			if c.Hung() != maxHung || sent.Load() != maxHung {
				t.Errorf("%d requests hang, %d were sent", c.Hung(), sent.Load())
			}
			close(stop)
		})
		if err := get(10 * time.Second); err != nil {
			t.Errorf("when the transports return: %v", err)
		}
		if synctest.Wait(); c.Hung() != 0 {
			t.Errorf("%d requests hang when all have returned", c.Hung())
		}
	})
}

// A transport that panics or ends its goroutine is a failure of its request.
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
