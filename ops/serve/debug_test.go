package serve_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"

	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/ops/serve"
	"github.com/flyball-io/flyball/option"
)

func TestDebugListsAndServesItsPages(t *testing.T) {
	h, err := serve.Debug(serve.Page{Path: "/debug/caches", About: "what is held", Handler: ok},
		serve.Page{Path: `/debug/a"><b?`, About: "1 < 2 & 3", Handler: ok})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/debug/":                           `200 <a href="/debug/caches">/debug/caches</a><td>what is held`,
		"/debug/?":                          `200 <a href="/debug/a%22%3E%3Cb%3F">/debug/a&#34;&gt;&lt;b?</a><td>1 &lt; 2 &amp; 3`,
		"/debug/pprof/":                     `200 <a href="/debug/pprof/heap">`,
		"/debug/caches":                     "200 ok",
		"/debug/pprof/goroutine?debug=1":    "200 goroutine profile:",
		"/debug/pprof/goroutine?debug=2":    "200 TestDebugListsAndServesItsPages",
		"/debug/pprof/heap?debug=1&gc=1":    "200 heap profile:",
		"/debug/pprof/cmdline":              "200 serve.test",
		"/debug/pprof/symbol":               "200 num_symbols",
		"/debug/pprof/nothing":              "404 no such profile",
		"/debug/pprof/heap?seconds=1":       "400 only profile and trace",
		"/debug/pprof/profile?seconds=-1":   "400 is not a positive number",
		"/debug/pprof/profile?seconds=NaN":  "400 is not a positive number",
		"/debug/pprof/profile?seconds=1e99": "400 is more than",
		"/debug/else":                       "404 ",
		"/metrics":                          "404 ",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		code, text, _ := strings.Cut(want, " ")
		if !strings.Contains(w.Body.String(), text) || code != strconv.Itoa(w.Code) {
			t.Errorf("%s: %d %.200s, want %s", path, w.Code, w.Body, want)
		}
	}
	for _, path := range []string{"/debug/pprof/heap", "/debug/pprof/allocs", "/debug/pprof/profile?seconds=0.05"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		z, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if b, err := io.ReadAll(z); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", path, len(b), err)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/trace?seconds=0.01", nil))
	if !strings.HasPrefix(w.Body.String(), "go 1.") {
		t.Errorf("trace: %.20q", w.Body)
	}
}

// A profile ends with its request, cannot be longer than its request, and only one runs at a time.
func TestProfileEndsWithItsRequest(t *testing.T) {
	h, err := serve.Debug()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan int)
	begun := make(chan struct{})
	go func() {
		w := &signalled{ResponseRecorder: httptest.NewRecorder(), begun: begun}
		h.ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/trace?seconds=3600", nil).WithContext(ctx))
		first <- w.Code
	}()
	<-begun
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/trace?seconds=3600", nil))
	if w.Code != 409 {
		t.Errorf("a second trace: %d", w.Code)
	}
	cancel()
	if got := <-first; got != 200 {
		t.Errorf("the first trace: %d", got)
	}

	bounded, done := context.WithTimeout(t.Context(), time.Hour)
	defer done()
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/profile?seconds=3600", nil).WithContext(bounded))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "that a request may take") {
		t.Errorf("longer than a request: %d %s", w.Code, w.Body)
	}
}

// signalled signals when the first byte is written.
type signalled struct {
	*httptest.ResponseRecorder
	begun chan struct{}
}

func (s *signalled) Write(b []byte) (int, error) {
	if s.begun != nil {
		close(s.begun)
		s.begun = nil
	}
	return s.ResponseRecorder.Write(b)
}

func TestInvalidPagesAreRejected(t *testing.T) {
	for _, pages := range [][]serve.Page{
		{{Path: "/caches", Handler: ok}},
		{{Path: "/debug/", Handler: ok}},
		{{Path: "/debug/../x", Handler: ok}},
		{{Path: "/debug/{x}", Handler: ok}},
		{{Path: "/debug/pprof/heap", Handler: ok}},
		{{Path: "/debug/x"}},
		{{Path: "/debug/x", Handler: ok}, {Path: "/debug/x", Handler: ok}},
	} {
		var bad *option.Error
		if _, err := serve.Debug(pages...); !errors.As(err, &bad) || bad.Field != pages[0].Path {
			t.Errorf("%+v: %v", pages, err)
		}
	}
}

// Profiles are served only by the handler that Debug returned.
func TestDebugLeavesTheDefaultMuxAlone(t *testing.T) {
	if _, err := serve.Debug(); err != nil {
		t.Fatal(err)
	}
	if _, pattern := http.DefaultServeMux.Handler(httptest.NewRequest("GET", "/debug/pprof/", nil)); pattern != "" {
		t.Errorf("http.DefaultServeMux has %s", pattern)
	}
}
