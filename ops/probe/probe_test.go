package probe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/ops/probe"
	"github.com/flyball-io/flyball/option"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

func newSet(t *testing.T, o probe.Options) *probe.Set {
	t.Helper()
	if o.Logger == nil {
		o.Logger = quiet
	}
	s, err := probe.New("readyz", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, s *probe.Set, name string, f probe.Check) (remove func()) {
	t.Helper()
	remove, err := s.Add(name, f)
	if err != nil {
		t.Fatal(err)
	}
	return remove
}

func fine(context.Context) error { return nil }

func bad(text string) probe.Check { return func(context.Context) error { return errors.New(text) } }

func get(h http.Handler, path string) *httptest.ResponseRecorder { return send(h, "GET", path) }

func send(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestHandlerAnswersEachPath(t *testing.T) {
	s := newSet(t, probe.Options{})
	add(t, s, "ping", fine)
	add(t, s, "cache-pods", fine)
	broken := newSet(t, probe.Options{})
	add(t, broken, "ping", fine)
	add(t, broken, "cache-pods", bad("forbidden: list pods"))
	add(t, broken, "boom", func(context.Context) error { panic("with a secret") })
	secret := newSet(t, probe.Options{Withhold: true})
	add(t, secret, "lease", bad("what nobody may know"))

	for _, tt := range []struct {
		set          *probe.Set
		method, path string
		code         int
		body         string
	}{
		{newSet(t, probe.Options{}), "GET", "/readyz", 200, "ok"},
		{s, "GET", "/readyz", 200, "ok"},
		{s, "GET", "/readyz/", 200, "ok"},
		{s, "GET", "/readyz?verbose", 200, "[+]cache-pods ok\n[+]ping ok\nreadyz check passed\n"},
		{s, "GET", "/readyz?verbose=1&exclude=ping", 200, "[+]cache-pods ok\n[+]ping excluded: ok\nreadyz check passed\n"},
		{s, "GET", "/readyz?exclude=pong", 200, "[+]cache-pods ok\n[+]ping ok\nwarn: no checks to exclude have the names \"pong\"\nreadyz check passed\n"},
		{s, "GET", "/readyz/ping", 200, "ok"},
		{s, "GET", "/readyz/ping?verbose", 200, "[+]ping ok\n"},
		{s, "GET", "/readyz/pong", 404, "there is no check \"pong\"\n"},
		{s, "GET", "/readyz/ping/", 404, "there is no check \"ping/\"\n"},
		{s, "GET", "/readyz/%3Cscript%3E%0A", 404, "there is no check \"<script>\\n\"\n"},
		{s, "GET", "/readyzz", 404, "there is no such probe\n"},
		{s, "GET", "/", 404, "there is no such probe\n"},
		{s, "POST", "/readyz", 405, "only GET and HEAD\n"},
		{s, "OPTIONS", "/readyz/ping", 405, "only GET and HEAD\n"},
		{broken, "GET", "/readyz", 503, "[-]boom failed: panicked\n[-]cache-pods failed: forbidden: list pods\n[+]ping ok\nreadyz check failed\n"},
		{broken, "GET", "/readyz?exclude=boom&exclude=cache-pods", 200, "ok"},
		{broken, "GET", "/readyz?exclude=boom", 503, "[-]cache-pods failed: forbidden: list pods\n[+]ping ok\n[+]boom excluded: ok\nreadyz check failed\n"},
		{broken, "GET", "/readyz/cache-pods", 503, "[-]cache-pods failed: forbidden: list pods\n"},
		{broken, "GET", "/readyz/ping", 200, "ok"},
		{secret, "GET", "/readyz", 503, "[-]lease failed: reason withheld\nreadyz check failed\n"},
		{secret, "GET", "/readyz/lease", 503, "[-]lease failed: reason withheld\n"},
	} {
		w := send(tt.set.Handler(), tt.method, tt.path)
		if w.Code != tt.code || w.Body.String() != tt.body {
			t.Errorf("%s %s: %d %q, want %d %q", tt.method, tt.path, w.Code, w.Body, tt.code, tt.body)
		}
		if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("%s %s: %s", tt.method, tt.path, got)
		}
	}
	if got := send(s.Handler(), "PUT", "/readyz").Header().Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow: %q", got)
	}
}

func TestMountServesBothPaths(t *testing.T) {
	s := newSet(t, probe.Options{})
	add(t, s, "ping", bad("down"))
	mux := http.NewServeMux()
	s.Mount(mux)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	for path, want := range map[string]int{"/readyz": 503, "/readyz/ping": 503, "/readyz/pong": 404, "/livez": 404} {
		resp, err := srv.Client().Head(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("HEAD %s: %d, want %d", path, resp.StatusCode, want)
		}
	}
}

// isOption reports whether err is an *option.Error with this text.
func isOption(err error, text string) bool {
	_, ok := errors.AsType[*option.Error](err)
	return ok && strings.Contains(err.Error(), text)
}

func TestInvalidAndTakenNamesAreErrors(t *testing.T) {
	if _, err := probe.New("a/b", probe.Options{}); !isOption(err, "a name must have") {
		t.Errorf("New: %v", err)
	}
	s := newSet(t, probe.Options{})
	for _, name := range []string{"", "a b", "a/b", "..", "a\n", "é", strings.Repeat("a", 129)} {
		if _, err := s.Add(name, fine); !isOption(err, "a name must have") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := s.Add("a", nil); !isOption(err, "a: is nil") {
		t.Errorf("nil: %v", err)
	}
	remove := add(t, s, "cache-deployments.apps:v1_x", bad("x"))
	if _, err := s.Add("cache-deployments.apps:v1_x", fine); !isOption(err, `probe "readyz": cache-deployments.apps:v1_x: is taken`) {
		t.Errorf("twice: %v", err)
	}
	remove()
	if w := get(s.Handler(), "/readyz"); w.Code != 200 {
		t.Errorf("removed: %d", w.Code)
	}
	add(t, s, "cache-deployments.apps:v1_x", fine)
	remove()
	if got := s.Check(t.Context()); len(got) != 1 {
		t.Errorf("a remove that is late took another check: %v", got)
	}
}

// A check that hangs is reported, delays no other check, and is not called again while it hangs. It costs one goroutine,
// which the audit counts.
func TestHangingCheckIsCalledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(t, probe.Options{Timeout: 2 * time.Second})
		release := make(chan struct{})
		var calls atomic.Int32
		add(t, s, "stuck", func(context.Context) error { calls.Add(1); <-release; return nil })
		add(t, s, "ping", fine)

		began := time.Now()
		want := "[+]ping ok\n[-]stuck failed: no answer in time: 2s so far\nreadyz check failed\n"
		if w := get(s.Handler(), "/readyz"); w.Code != 503 || w.Body.String() != want {
			t.Errorf("%d %q", w.Code, w.Body)
		}
		if d := time.Since(began); d != 2*time.Second {
			t.Errorf("it took %s", d)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		goroutines := runtime.NumGoroutine()
		began = time.Now()
		for range 100 {
			if w := get(s.Handler(), "/readyz/stuck"); w.Code != 503 || !strings.Contains(w.Body.String(), "3s so far") {
				t.Fatalf("%d %q", w.Code, w.Body)
			}
		}
		synctest.Wait() // a goroutine that has answered may still be ending
		if time.Since(began) != 0 || calls.Load() != 1 {
			t.Errorf("%s, %d calls", time.Since(began), calls.Load())
		}
		// There were a hundred requests; goroutines of the rest of the process count, too.
		if more := runtime.NumGoroutine() - goroutines; tier.InAudit() && more > 20 {
			t.Errorf("%d goroutines more", more)
		}
		if got := s.Err(t.Context()); !errors.Is(got, probe.ErrNoAnswer) {
			t.Errorf("Err: %v", got)
		}
		close(release)
		synctest.Wait()
		if w := get(s.Handler(), "/readyz"); w.Code != 200 {
			t.Errorf("released: %d %s", w.Code, w.Body)
		}
	})
}

// Concurrent callers share the call. A caller that comes after all others have left does not get
// the answer of the cancelled call.
func TestConcurrentCallersShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(t, probe.Options{})
		var calls atomic.Int32
		causes := make(chan error, 1)
		add(t, s, "slow", func(ctx context.Context) error {
			calls.Add(1)
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				causes <- context.Cause(ctx)
				time.Sleep(time.Second) // to clean up
				return ctx.Err()
			}
		})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if w := get(s.Handler(), "/readyz"); w.Code != 200 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			})
		}
		all.Wait()
		if calls.Load() != 1 {
			t.Errorf("%d calls, want 1", calls.Load())
		}

		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		left := make(chan []probe.Outcome)
		go func() { left <- s.Check(ctx) }()
		synctest.Wait()
		cancel(gone)
		if got := <-left; got[0].Err != gone {
			t.Errorf("left with %v", got)
		}
		if err := <-causes; err == nil || err.Error() != "all callers have left" {
			t.Errorf("the check ends for %v", err)
		}
		if w := get(s.Handler(), "/readyz"); w.Code != 200 || calls.Load() != 3 {
			t.Errorf("%d %s, %d calls", w.Code, w.Body, calls.Load())
		}
	})
}

func TestGoexitFailsTheCheck(t *testing.T) {
	s := newSet(t, probe.Options{})
	add(t, s, "leaves", func(context.Context) error { runtime.Goexit(); return nil })
	for range 2 {
		if w := get(s.Handler(), "/readyz"); w.Code != 503 || !strings.Contains(w.Body.String(), "Goexit") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// The log has changes, not probes.
func TestLogHasChangesOnly(t *testing.T) {
	var text bytes.Buffer
	s := newSet(t, probe.Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
	var is atomic.Value
	is.Store("")
	add(t, s, "lease", func(context.Context) error {
		switch v := is.Load().(string); v {
		case "":
			return nil
		case "boom":
			panic(v)
		default:
			return errors.New(v)
		}
	})
	for _, v := range []string{"", "down", "down", "other", "", "", "boom", ""} {
		is.Store(v)
		get(s.Handler(), "/readyz")
	}
	var got []string
	for line := range strings.Lines(text.String()) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		got = append(got, fmt.Sprintf("%.62s", rest))
	}
	want := []string{
		`level=WARN msg="check fails" probe=readyz check=lease err=down`,
		`level=INFO msg="check is in order again" probe=readyz check=le`,
		`level=WARN msg="check fails" probe=readyz check=lease err="lea`,
		`level=INFO msg="check is in order again" probe=readyz check=le`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || !strings.Contains(text.String(), "probe_test.go") {
		t.Errorf("got\n%s", text.String())
	}
}

func TestReasonHasNoSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"plain text: 5 of 7":                                                   "plain text: 5 of 7",
		"two\nlines\tand\x00more":                                              "two lines and more",
		"get https://ann:pw@host/x?token=abc: no":                              "get https://…@host/x?… no",
		"Authorization: Bearer abcdefghijkl":                                   "Authorization: Bearer …",
		"got eyJhbGciOi.eyJzdWIi.c2ln here":                                    "got … here",
		"password=hunter2, user=ann":                                           "password=…, user=ann",
		"bad -----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY----- file": "bad … file",
		"bad -----BEGIN PRIVATE KEY-----\nMII":                                 "bad …",
		"secret default/tls is not there":                                      "secret default/tls is not there",
		`secrets "tls" not found`:                                              `secrets "tls" not found`,
	} {
		if got := probe.Reason(errors.New(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := probe.Reason(errors.New(strings.Repeat("é", 100_000))); len(got) > 520 {
		t.Errorf("%d bytes", len(got))
	}
}

func FuzzHandler(f *testing.F) {
	for _, seed := range []string{"/readyz", "/readyz/ping?verbose", "/readyz?exclude=%00", "/readyz?exclude=a&exclude=b;c", "/readyz/%2e%2e"} {
		f.Add(seed)
	}
	s, err := probe.New("readyz", probe.Options{Logger: quiet})
	if err != nil {
		f.Fatal(err)
	}
	if _, err := s.Add("ping", fine); err != nil {
		f.Fatal(err)
	}
	h := s.Handler()
	f.Fuzz(func(t *testing.T, target string) {
		r, err := http.NewRequest("GET", target, nil)
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 404 {
			t.Errorf("%q: %d", target, w.Code)
		}
		if w.Body.Len() > 8<<10 {
			t.Errorf("%q: %d bytes", target, w.Body.Len())
		}
	})
}

func FuzzReason(f *testing.F) {
	f.Add("x://a@b?c")
	f.Add("-----BEGIN A-----")
	f.Fuzz(func(t *testing.T, text string) {
		got := probe.Reason(errors.New(text))
		if len(got) > 520 || strings.ContainsAny(got, "\n\r\x00") {
			t.Errorf("%q", got)
		}
	})
}
