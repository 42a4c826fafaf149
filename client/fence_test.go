package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func closedFence(Call) error { return errTest }

func TestFenceKeepsWritesBack(t *testing.T) {
	ctx := t.Context()
	writes := map[string]func(Writer) error{
		"create": func(w Writer) error {
			_, err := Create(ctx, w, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a"}})
			return err
		},
		"update": func(w Writer) error { _, err := Update(ctx, w, pod("a")); return err },
		"patch": func(w Writer) error {
			_, err := Patch(ctx, w, pod("a"), MergePatch(map[string]any{"metadata": nil}))
			return err
		},
		"apply": func(w Writer) error {
			_, err := Apply(ctx, w, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a"}}, "me")
			return err
		},
		"delete":           func(w Writer) error { return Delete(ctx, w, pod("a")) },
		"deletecollection": func(w Writer) error { return DeleteAll[corev1.Pod](ctx, w, InNamespace("web")) },
	}
	for verb, write := range writes {
		t.Run(verb, func(t *testing.T) {
			f := newFake(t)
			hooked := 0
			c := f.client(Options{Hook: func(Done) { hooked++ }})
			for _, w := range []Writer{c.Fenced(closedFence), c.Fenced(func(Call) error { return nil }).Fenced(closedFence), c.Fenced(closedFence).Fenced(func(Call) error { return nil })} {
				err := write(w)
				e, ok := errors.AsType[*FencedError](err)
				if !ok || !errors.Is(err, errTest) || e.Verb != verb || e.Resource.Resource != "pods" {
					t.Fatalf("got %v (%T)", err, err)
				}
			}
			if f.count() != 0 || hooked != 0 {
				t.Errorf("%d requests were sent, %d were told to the hook", f.count(), hooked)
			}
			if err := write(c); errors.Is(err, errTest) || f.count() != 1 {
				t.Errorf("the client beneath is fenced: %v, %d requests", err, f.count())
			}
		})
	}
}

func TestFenceIsAskedForDryRunsAndSubresources(t *testing.T) {
	f := newFake(t)
	c := f.client(Options{}).Fenced(closedFence)
	for _, err := range []error{
		SetScale(t.Context(), c, pod("a"), 2),
		Delete(t.Context(), c, pod("a"), DryRun{}),
	} {
		if _, ok := errors.AsType[*FencedError](err); !ok {
			t.Errorf("got %v", err)
		}
	}
	if f.count() != 0 {
		t.Errorf("%d requests were sent", f.count())
	}
}

func TestFenceLetsReadsPass(t *testing.T) {
	f := newFake(t)
	f.on("GET /api/v1/namespaces/web/pods/a", reply(pod("a"), podGVK))
	f.on("GET /api/v1/namespaces/web/pods", podList("8", "", "a", "b"))
	c := f.client(Options{}).Fenced(closedFence)
	if _, err := Get[corev1.Pod](t.Context(), c, key("a")); err != nil {
		t.Error(err)
	}
	got, errs := names(t, List[corev1.Pod](t.Context(), c, InNamespace("web")))
	equal(t, "list", got, []string{"a", "b"})
	equal(t, "errors", errs, nil)
}

func TestNilFenceIsNone(t *testing.T) {
	c := newFake(t).client(Options{})
	if c.Fenced(nil) != c {
		t.Error("a nil fence makes another client")
	}
}

// The fence closes while the client waits before a retry.
func TestFenceIsAskedBeforeEachTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.on("DELETE /api/v1/namespaces/web/pods/a", status(429, metav1.StatusReasonTooManyRequests, "10"))
		start := time.Now()
		c := f.client(Options{}).Fenced(func(Call) error {
			if time.Since(start) > 25*time.Second {
				return errTest
			}
			return nil
		})
		err := Delete(t.Context(), c, pod("a"))
		if _, ok := errors.AsType[*FencedError](err); !ok || f.count() != 3 {
			t.Errorf("%d requests, then %v; want 3, then Fenced", f.count(), err)
		}
	})
}

// openOnce permits the first call and refuses all others.
func openOnce() func(Call) error {
	var asked atomic.Int64
	return func(Call) error {
		if asked.Add(1) > 1 {
			return errTest
		}
		return nil
	}
}

// The fence closes while the transport waits for a connection. The client asks it again when the
// transport takes the body, and the server receives a request without a body.
func TestFenceIsAskedForTheBody(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			var got atomic.Bool
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if isDiscovery(r.URL.Path) {
					f.ServeHTTP(w, r)
					return
				}
				body, err := io.ReadAll(r.Body)
				if err == nil || len(body) > 0 {
					got.Store(true)
				}
			}))
			srv.EnableHTTP2 = http2
			srv.Config.ErrorLog = discardLog
			srv.StartTLS()
			defer srv.Close()
			c, err := New(&rest.Config{Host: srv.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = Update(t.Context(), c.Fenced(openOnce()), pod("a"))
			if _, ok := errors.AsType[*FencedError](err); !ok {
				t.Errorf("got %v (%T)", err, err)
			}
			c.Close()
			srv.Close()
			if got.Load() {
				t.Error("the server has got the body")
			}
		})
	}
}

// roundTripper is a transport made of one function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A transport that hides why the body ended does not make the write a success.
func TestFenceWinsOverTheTransport(t *testing.T) {
	f := newFake(t)
	c := f.over(roundTripper(func(r *http.Request) (*http.Response, error) {
		if isDiscovery(r.URL.Path) {
			return f.RoundTrip(r)
		}
		if data, err := io.ReadAll(r.Body); len(data) > 0 || !errors.Is(err, errTest) {
			t.Errorf("the transport got %q, %v", data, err)
		}
		body, err := r.GetBody()
		if err != nil {
			t.Error(err)
		}
		if data, err := io.ReadAll(body); len(data) > 0 || !errors.Is(err, errTest) {
			t.Errorf("the transport got %q, %v when it tried again", data, err)
		}
		return httptest.NewRecorder().Result(), nil
	}), Options{}).Fenced(openOnce())
	_, err := Update(t.Context(), c, pod("a"))
	if _, ok := errors.AsType[*FencedError](err); !ok {
		t.Errorf("got %v", err)
	}
}

// The end of the body does not ask the fence: all bytes have left by then.
func TestFenceThatClosesAfterTheBody(t *testing.T) {
	f := newFake(t)
	f.on("PUT /api/v1/namespaces/web/pods/a", reply(pod("a"), podGVK))
	var closed atomic.Bool
	c := f.over(roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodPut {
			return f.RoundTrip(r)
		}
		if _, err := io.ReadFull(r.Body, make([]byte, r.ContentLength)); err != nil {
			t.Error(err)
		}
		closed.Store(true)
		if n, err := r.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("the end of the body: %d, %v", n, err)
		}
		return f.RoundTrip(r)
	}), Options{}).Fenced(func(Call) error {
		if closed.Load() {
			return errTest
		}
		return nil
	})
	if _, err := Update(context.WithoutCancel(t.Context()), c, pod("a")); err != nil {
		t.Error(err)
	}
}
