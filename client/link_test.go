package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/internal/wire"
)

// A request that the server has not processed, also a write, is sent again after the delay it asks for.
func TestUnprocessedRequestsAreRetried(t *testing.T) {
	busy := status(429, metav1.StatusReasonTooManyRequests, "2")
	down := status(503, metav1.StatusReasonServiceUnavailable, "3")
	for _, tt := range []struct {
		name  string
		first http.HandlerFunc
		tries int
		least time.Duration
	}{
		{"429", busy, 2, 2 * time.Second},
		{"503 with a delay", down, 2, 3 * time.Second},
		{"503 without", status(503, metav1.StatusReasonServiceUnavailable, ""), 1, 0},
		{"500 with a delay", status(500, metav1.StatusReasonInternalError, "1"), 1, 0},
		{"504: may have been done", status(504, metav1.StatusReasonTimeout, "1"), 1, 0},
		{"401 with fixed credentials", status(401, metav1.StatusReasonUnauthorized, ""), 1, 0},
		{"429 without a delay", status(429, metav1.StatusReasonTooManyRequests, ""), 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				f.on("POST /api/v1/namespaces/web/pods", inTurn(tt.first, reply(pod("x"), podGVK)))
				start := time.Now()
				_, err := Create(t.Context(), f.client(Options{}), pod("x"))
				if (err == nil) != (tt.tries > 1) {
					t.Errorf("got %v", err)
				}
				if f.count() != tt.tries {
					t.Errorf("%d tries, want %d", f.count(), tt.tries)
				}
				if d := time.Since(start); d < tt.least || d > tt.least+tt.least/10 {
					t.Errorf("took %v, want %v and up to a tenth more", d, tt.least)
				}
				if !strings.Contains(f.last().body, "x") {
					t.Error("the body was not sent again")
				}
			})
		})
	}
}

func TestRetryIsBounded(t *testing.T) {
	busy := status(429, metav1.StatusReasonTooManyRequests, "2")
	newBusy := func(t *testing.T) *fake {
		f := newFake(t)
		f.on("GET /api/v1/namespaces/web/pods/x", busy)
		return f
	}
	t.Run("by Retries", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newBusy(t)
			_, err := Get[corev1.Pod](t.Context(), f.client(Options{Retries: 3}), key("x"))
			if !is[*TooManyRequestsError](err) || f.count() != 4 {
				t.Errorf("%d tries, got %v", f.count(), err)
			}
		})
	})
	// If the delay ends after the deadline, the call fails at once with the answer of the server.
	t.Run("by the deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newBusy(t)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := Get[corev1.Pod](ctx, f.client(Options{}), key("x"))
			if !is[*TooManyRequestsError](err) || ctx.Err() != nil {
				t.Errorf("got %v, ctx %v", err, ctx.Err())
			}
		})
	})
	t.Run("by the end of ctx", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newBusy(t)
			cause := errors.New("shutting down")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(cause) })
			_, err := Get[corev1.Pod](ctx, f.client(Options{}), key("x"))
			if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || !is[*TooManyRequestsError](err) {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("feeds try once", func(t *testing.T) {
		f := newFake(t)
		f.on("GET /api/v1/pods", busy)
		_, err := f.client(Options{}).Feed(podGVK, Selection{}).List(t.Context(), wire.ListQuery{})
		if d, _ := RetryAfter(err); d != 2*time.Second || f.count() != 1 {
			t.Errorf("%d tries, got %v", f.count(), err)
		}
	})
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.on("GET /api/v1/namespaces/web/pods/x", reply(pod("x"), podGVK))
		c := f.client(Options{QPS: 2, Burst: 3})
		start := time.Now()
		for range 7 {
			if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("7 requests took %v, want 2s", d)
		}
	})
}

// stuck is a transport that is silent until the request is cancelled. With an answer it sends that first.
type stuck struct {
	next   http.RoundTripper
	path   string
	answer []byte
}

func (s *stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != s.path {
		return s.next.RoundTrip(r)
	}
	if s.answer == nil {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", wire.ContentTypeJSON)
	resp := rec.Result()
	resp.Body = &stuckBody{Reader: bytes.NewReader(s.answer), done: r.Context().Done(), err: r.Context().Err}
	return resp, nil
}

type stuckBody struct {
	*bytes.Reader
	done <-chan struct{}
	err  func() error
}

func (b *stuckBody) Read(p []byte) (int, error) {
	if b.Len() > 0 {
		return b.Reader.Read(p)
	}
	<-b.done
	return 0, b.err()
}

func (b *stuckBody) Close() error { return nil }

// A silent connection ends the request, before the header and within the body.
func TestSilentConnectionsEnd(t *testing.T) {
	for name, body := range map[string][]byte{"no header": nil, "half a body": []byte(`{"kind":"Pod",`)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				c := f.over(&stuck{f, "/api/v1/namespaces/web/pods/x", body}, Options{})
				start := time.Now()
				_, err := Get[corev1.Pod](t.Context(), c, key("x"))
				if !is[*TimeoutError](err) || time.Since(start) != 45*time.Second {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
			})
		})
	}
	t.Run("the caller's ctx goes first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			c := f.over(&stuck{f, "/api/v1/namespaces/web/pods/x", []byte("{")}, Options{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := Get[corev1.Pod](ctx, c, key("x"))
			if !errors.Is(err, context.DeadlineExceeded) || is[*TimeoutError](err) {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("a list, while it is read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			c := f.over(&stuck{f, "/api/v1/pods", []byte(`{"kind":"PodList","apiVersion":"v1","items":[`)}, Options{Silence: time.Second})
			l, err := c.Feed(podGVK, Selection{}).List(t.Context(), wire.ListQuery{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			time.Sleep(time.Minute) // a slow reader is not a silent server
			if _, err := l.Next(); !is[*TimeoutError](err) {
				t.Errorf("got %v", err)
			}
		})
	})
}

// broken fails every request outside discovery.
type broken struct {
	next http.RoundTripper
	err  error
	n    int
}

func (b *broken) RoundTrip(r *http.Request) (*http.Response, error) {
	if isDiscovery(r.URL.Path) {
		return b.next.RoundTrip(r)
	}
	b.n++
	return nil, b.err
}

// A write whose connection broke is not sent again: the server may have made it.
func TestConnectionErrors(t *testing.T) {
	f := newFake(t)
	b := &broken{next: f, err: io.ErrUnexpectedEOF}
	_, err := Create(t.Context(), f.over(b, Options{}), pod("x"))
	e, ok := errors.AsType[*UnavailableError](err)
	if !ok || e.Unsent || !errors.Is(err, io.ErrUnexpectedEOF) || b.n != 1 {
		t.Errorf("%d tries, got %v", b.n, err)
	}

	srv := httptest.NewServer(f)
	c, err := New(&rest.Config{Host: srv.URL}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context()); !is[*ConfigError](err) {
		t.Errorf("a server without /version: got %v", err)
	}
	if _, err := c.Mapper().RESTMapping(podGVK.GroupKind(), "v1"); err != nil {
		t.Fatal(err)
	}
	srv.Close()
	c.Close() // an idle connection would end in an EOF instead
	_, err = Create(t.Context(), c, pod("x"))
	if e, ok := errors.AsType[*UnavailableError](err); !ok || !e.Unsent {
		t.Errorf("connection refused: got %v", err)
	}
}

func TestHookSeesEveryTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.on("GET /api/v1/namespaces/web/pods/x", inTurn(status(429, "", "1"), reply(pod("x"), podGVK)))
		var done []Done
		c := f.client(Options{Hook: func(d Done) { done = append(done, d) }})
		if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil {
			t.Fatal(err)
		}
		if len(done) != 2 {
			t.Fatalf("called %d times", len(done))
		}
		if d := done[0]; d.Code != 429 || d.Try != 1 || d.Err == nil || d.Resource.Resource != "pods" || d.Verb != "get" {
			t.Errorf("first: %+v", d)
		}
		if d := done[1]; d.Code != 200 || d.Try != 2 || d.Err != nil {
			t.Errorf("second: %+v", d)
		}
	})
}

// stuckLog is a log handler that blocks.
type stuckLog struct {
	slog.Handler
	open <-chan struct{}
}

func (s stuckLog) Handle(context.Context, slog.Record) error { <-s.open; return nil }

// A log handler that blocks delays a request by a second at most.
func TestWarningsAndAStuckLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.on("GET "+podPath, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Warning", `299 - "v1 Pod is old"`)
			reply(pod("x"), podGVK)(w, r)
		})
		open, done := make(chan struct{}), make(chan error, 1)
		defer close(open)
		c := f.client(Options{Logger: slog.New(stuckLog{slog.NewTextHandler(io.Discard, nil), open})})
		go func() {
			_, err := Get[corev1.Pod](t.Context(), c, key("x"))
			done <- err
		}()
		time.Sleep(logguard.Patience)
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the request waits for the log")
		}
		if !logguard.Stuck(c.link.warnings.log) {
			t.Error("the log did not block")
		}
	})
}

func TestWarningsAreLoggedOnce(t *testing.T) {
	f := newFake(t)
	f.on("GET /api/v1/namespaces/web/pods/x", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Warning", `299 - "v1 Pod is \"old\""`)
		w.Header().Add("Warning", `nonsense`)
		reply(pod("x"), podGVK)(w, r)
	})
	var buf bytes.Buffer
	c := f.client(Options{Logger: slog.New(slog.NewTextHandler(&buf, nil))})
	for range 3 {
		if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(buf.String(), "\n"); n != 1 || !strings.Contains(buf.String(), "Pod is") {
		t.Errorf("%d lines:\n%s", n, buf.String())
	}
}

// The path of a base URL, as of a proxy, is kept. Segments are escaped.
func TestBaseURLPathIsKept(t *testing.T) {
	f := newFake(t)
	srv := httptest.NewServer(http.StripPrefix("/clusters/a b", f))
	defer srv.Close()
	c, err := New(&rest.Config{Host: srv.URL + "/clusters/a%20b"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f.on("GET /api/v1/nodes/a:b c", reply(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a:b c"}}, corev1.SchemeGroupVersion.WithKind("Node")))
	if _, err := Get[corev1.Node](t.Context(), c, key("a:b c")); err != nil {
		t.Error(err)
	}
}
