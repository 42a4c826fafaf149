package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// echo is a protocol whose reviews are any JSON. Its UID is "uid".
type echo struct {
	serve func(ctx context.Context, body []byte) error
}

type echoed struct {
	echo
	body []byte
}

func (e echo) Parse(body []byte) (Job, *RefusalError) {
	if !json.Valid(body) {
		return nil, Bad("", "not JSON", nil)
	}
	return &echoed{e, body}, nil
}

func (e *echoed) UID() string { return "uid" }

func (e *echoed) Serve(ctx context.Context, out []byte) ([]byte, bool, error) {
	if e.serve != nil {
		if err := e.serve(ctx, e.body); err != nil {
			return nil, false, err
		}
	}
	return append(out, e.body...), len(e.body) == 2, nil
}

func endpoint(serve func(ctx context.Context, body []byte) error, o Options) *Endpoint {
	o.Name, o.Logger = "test", slog.New(slog.DiscardHandler)
	if o.DefaultBody == 0 {
		o.DefaultBody = 1 << 20
	}
	o.Parse = echo{serve}.Parse
	return NewEndpoint(o)
}

func post(body io.Reader) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.Header.Set("Content-Type", "application/json")
	return r
}

func ask(e http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

func statusOf(t *testing.T, w *httptest.ResponseRecorder) metav1.Status {
	t.Helper()
	var s metav1.Status
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || s.Kind != "Status" || int(s.Code) != w.Code || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %s (%v): want a Status", w.Code, w.Header(), w.Body, err)
	}
	return s
}

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// endless is an infinite body. It counts the bytes read.
type endless struct{ n int }

func (e *endless) Read(b []byte) (int, error) {
	e.n += len(b)
	return copy(b, bytes.Repeat([]byte{' '}, len(b))), nil
}

type brokenBody struct{ err error }

func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }

func TestHeaderIsCheckedFirst(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		code   int
	}{
		{"method", func(r *http.Request) { r.Method = http.MethodGet }, 405},
		{"odd method", func(r *http.Request) { r.Method = strings.Repeat("X", 9999) }, 405},
		{"no content type", func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
		{"content type", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		{"content type that only starts well", func(r *http.Request) { r.Header.Set("Content-Type", "application/json-patch+json") }, 415},
		{"compressed", func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, 415},
		{"length", func(r *http.Request) { r.ContentLength = 100 << 20 }, 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := post(untouched{t})
			tt.change(r)
			var done Call
			w := ask(endpoint(nil, Options{Hooks: Hooks{Done: func(c Call) { done = c }}}), r)
			if s := statusOf(t, w); w.Code != tt.code || s.Message == "" || len(s.Message) > 200 || s.Reason == "" || done.Code != tt.code {
				t.Errorf("%d %+v, counted %+v", w.Code, s, done)
			}
			if w.Header().Get("Connection") != "close" {
				t.Error("the connection stays open, with a body in it that nobody reads")
			}
		})
	}
	for _, ct := range []string{"application/json", "Application/JSON ; charset=utf-8"} {
		r := post(strings.NewReader("{}"))
		r.Header.Set("Content-Type", ct)
		if w := ask(endpoint(nil, Options{}), r); w.Code != 200 || w.Body.String() != "{}" {
			t.Errorf("%s: %d %s", ct, w.Code, w.Body)
		}
	}
}

func TestBodyIsReadUpToItsLimit(t *testing.T) {
	e := endpoint(nil, Options{DefaultBody: 100_000})
	for _, n := range []int{2, 8191, 8192, 8193, 99_999, 100_000} {
		body := `"` + strings.Repeat("x", n-2) + `"`
		r := post(strings.NewReader(body))
		r.ContentLength = -1
		if w := ask(e, r); w.Code != 200 || w.Body.String() != body {
			t.Errorf("%d bytes: %d", n, w.Code)
		}
	}
	for _, length := range []int64{-1, 5} {
		src := &endless{}
		r := post(src)
		r.ContentLength = length
		if w := ask(e, r); w.Code != 413 || src.n > 300_000 {
			t.Errorf("endless: %d after %d bytes", w.Code, src.n)
		}
	}
	if w := ask(e, post(brokenBody{os.ErrDeadlineExceeded})); w.Code != 408 {
		t.Errorf("slow body: %d", w.Code)
	}
	if w := ask(e, post(brokenBody{&http.MaxBytesError{Limit: 7}})); w.Code != 413 || !strings.Contains(w.Body.String(), "more than 7 bytes") {
		t.Errorf("longer than the server allows: %d %s", w.Code, w.Body)
	}
	if w := ask(e, post(brokenBody{io.ErrUnexpectedEOF})); w.Code != 400 {
		t.Errorf("broken body: %d", w.Code)
	}
	if w := ask(e, post(strings.NewReader("{"))); w.Code != 400 {
		t.Errorf("half a body: %d", w.Code)
	}
	if !unused(e) {
		t.Error("some bytes are still counted")
	}
}

// unused reports whether no request holds a share of the budget.
func unused(e *Endpoint) bool {
	all := e.o.Budget.size
	if !e.o.Budget.free.TryAcquire(all) {
		return false
	}
	e.o.Budget.free.Release(all)
	return true
}

func TestHandlerErrorsBecomeStatuses(t *testing.T) {
	secret := errors.New("secret")
	for _, tt := range []struct {
		name  string
		serve func(context.Context, []byte) error
		code  int
		says  string
		panic bool
	}{
		{"error", func(context.Context, []byte) error { return errors.New("no database") }, 500, "the webhook failed: no database", false},
		{"refusal", func(context.Context, []byte) error { return Bad("", "wrong", nil) }, 400, "wrong", false},
		{"panic", func(context.Context, []byte) error { panic(secret) }, 500, "the webhook panicked", true},
		{"nil panic", func(context.Context, []byte) error { panic(nil) }, 500, "the webhook panicked", true},
		{"index", func(_ context.Context, b []byte) error { _ = b[len(b)]; return nil }, 500, "the webhook panicked", true},
		{"goexit", func(context.Context, []byte) error { runtime.Goexit(); return nil }, 500, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var done Call
			e := endpoint(tt.serve, Options{Hooks: Hooks{Done: func(c Call) { done = c }}})
			w := ask(e, post(strings.NewReader("{}")))
			s := statusOf(t, w)
			if w.Code != tt.code || !strings.HasPrefix(s.Message, tt.says) || strings.Contains(s.Message, "secret") {
				t.Errorf("%d %q", w.Code, s.Message)
			}
			if s.Details == nil || s.Details.UID != "uid" {
				t.Errorf("the UID is not there: %+v", s.Details)
			}
			if (done.Panic != nil) != tt.panic || done.Code != tt.code {
				t.Errorf("counted as %+v", done)
			}
			if len(e.slots) != 0 || !unused(e) {
				t.Errorf("%d slots are still taken, or memory", len(e.slots))
			}
		})
	}
}

func TestTheShorterTimeoutApplies(t *testing.T) {
	for _, tt := range []struct {
		query   string
		timeout time.Duration
		want    time.Duration
	}{
		{"", 0, 30 * time.Second},
		{"timeout=10s", 0, 9500 * time.Millisecond},
		{"a=b&timeout=1s&c", 0, 900 * time.Millisecond},
		{"timeout=10s", time.Second, time.Second},
		{"timeout=500ms", time.Second, 450 * time.Millisecond},
		{"timeout=soon", time.Second, time.Second},
		{"timeout=-3s", time.Second, time.Second},
		{"timeout=", 0, 30 * time.Second},
		{"", -1, 0},
		{"timeout=10s", -1, 9500 * time.Millisecond},
	} {
		l := Limits{Timeout: tt.timeout}.withDefaults(1)
		if got := l.bound(callerTimeout(tt.query)); got != tt.want {
			t.Errorf("%q with %v: %v, want %v", tt.query, tt.timeout, got, tt.want)
		}
	}
}

// A handler that ends with its context gets its request answered in time.
func TestHandlerThatEndsWithItsContextIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(func(ctx context.Context, _ []byte) error {
			<-ctx.Done()
			return ctx.Err()
		}, Options{})
		start := time.Now()
		r := post(strings.NewReader("{}"))
		r.URL.RawQuery = "timeout=2s"
		w := ask(e, r)
		s := statusOf(t, w)
		if took := time.Since(start); w.Code != 504 || took != 1800*time.Millisecond || s.Details.UID != "uid" || s.Reason != metav1.StatusReasonTimeout {
			t.Errorf("%d after %v: %+v", w.Code, took, s)
		}
		synctest.Wait()
		if len(e.slots) != 0 || !unused(e) {
			t.Errorf("%d slots are still taken, or memory", len(e.slots))
		}
	})
}

// Fault 31 of docs/faults.md: handlers that never end do not pile up.
func TestAbandonedHandlersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		var lost []int
		var bodies []string
		var mu sync.Mutex
		e := endpoint(func(_ context.Context, body []byte) error {
			<-end
			mu.Lock()
			bodies = append(bodies, string(body))
			mu.Unlock()
			return nil
		}, Options{Limits: Limits{Concurrency: 3, Timeout: time.Second}, Hooks: Hooks{Lost: func(_ string, n int) { lost = append(lost, n) }}})
		for range 3 {
			if w := ask(e, post(strings.NewReader(`"precious"`))); w.Code != 504 {
				t.Errorf("late: %d", w.Code)
			}
		}
		start := time.Now()
		for range 1000 {
			if w := ask(e, post(untouched{t})); w.Code != 429 || w.Header().Get("Retry-After") == "" {
				t.Fatalf("too many: %d", w.Code)
			}
		}
		if time.Since(start) != 0 {
			t.Errorf("1000 refusals took %v", time.Since(start))
		}
		close(end)
		synctest.Wait()
		if w := ask(e, post(strings.NewReader(`"x"`))); w.Code != 200 || w.Body.String() != `"x"` {
			t.Errorf("afterwards: %d %s", w.Code, w.Body)
		}
		// They owned their memory until they ended.
		if strings.Join(bodies[:3], " ") != `"precious" "precious" "precious"` {
			t.Errorf("the handlers saw %v", bodies)
		}
		if len(lost) != 6 || lost[2] != 3 || lost[5] != 0 {
			t.Errorf("lost handlers were counted as %v", lost)
		}
	})
}

func TestComplaintsDoNotDrownTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e := NewEndpoint(Options{Parse: echo{func(context.Context, []byte) error { panic("x") }}.Parse,
			Name: "test", DefaultBody: 100, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 100 {
			ask(e, post(strings.NewReader("{}")))
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
			t.Errorf("%d complaints at once", n)
		}
		time.Sleep(logInterval) // virtual time
		ask(e, post(strings.NewReader("{}")))
		if !strings.Contains(log.String(), "suppressed=99") {
			t.Errorf("%s", log.String())
		}
	})
}

func TestHandlerEndsWhenTheCallerDisconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, ended := make(chan struct{}), false
		e := endpoint(func(ctx context.Context, _ []byte) error {
			close(started)
			<-ctx.Done()
			ended = true
			return ctx.Err()
		}, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-started; cancel() }()
		if w := ask(e, post(strings.NewReader("{}")).WithContext(ctx)); w.Code != 503 {
			t.Errorf("%d", w.Code)
		}
		synctest.Wait()
		if !ended || len(e.slots) != 0 {
			t.Error("the handler goes on")
		}
	})
}

func TestHooksSeeEveryCall(t *testing.T) {
	var started []string
	var done []Call
	e := endpoint(nil, Options{Hooks: Hooks{Started: func(n string) { started = append(started, n) }, Done: func(c Call) { done = append(done, c) }}})
	ask(e, post(strings.NewReader("{}")))
	ask(e, post(strings.NewReader("[1]")))
	if len(started) != 2 || started[0] != "test" || len(done) != 2 || !done[0].Denied || done[1].Denied || done[0].Code != 200 || done[0].Webhook != "test" {
		t.Errorf("%v %+v", started, done)
	}
}

// Many requests of all kinds run at once on real goroutines. Each gets its own answer.
func TestConcurrentRequestsGetTheirOwnAnswers(t *testing.T) {
	e := endpoint(func(ctx context.Context, body []byte) error {
		switch len(body) % 7 {
		case 0:
			panic("x")
		case 1:
			<-ctx.Done()
		}
		return nil
	}, Options{Limits: Limits{Concurrency: 64, Timeout: time.Millisecond}})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 300 {
				body := `"` + strings.Repeat(string(rune('a'+g)), i*g) + `"`
				w := ask(e, post(strings.NewReader(body)))
				if w.Code == 200 && w.Body.String() != body {
					t.Errorf("the answer to %d bytes has %d", len(body), w.Body.Len())
				} else if w.Code != 200 && w.Code != 500 && w.Code != 504 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
	wg.Wait()
	for range e.o.Limits.Concurrency { // until the abandoned handlers have ended
		e.slots <- struct{}{}
	}
	if !unused(e) {
		t.Error("some bytes are still counted")
	}
}
