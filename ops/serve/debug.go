package serve

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
)

// Page is a debug page of the program.
type Page struct {
	// Path is absolute, such as "/debug/caches". A trailing slash matches all paths below.
	Path string
	// About describes the page in one line.
	About   string
	Handler http.Handler
}

// Debug returns a handler for the paths below /debug/: the profiles of runtime/pprof as go tool
// pprof requests them, an execution trace, and the given pages. /debug/ and /debug/pprof/ have an
// index.
//
//	go tool pprof http://127.0.0.1:8080/debug/pprof/heap
//	go tool pprof http://127.0.0.1:8080/debug/pprof/profile?seconds=10
//
// The pages reveal much about the program: serve them behind [Authorized], or on loopback. Debug
// registers nothing in http.DefaultServeMux.
//
// A profile over a time cannot take longer than the ctx of its request. Without ?seconds a CPU
// profile takes 30 s and a trace 1 s, or less if ctx ends earlier.
//
// A page without a handler, outside of /debug/, or at a path that is taken is an *[option.Error].
func Debug(pages ...Page) (http.Handler, error) {
	pages = slices.Clone(pages)
	mux := http.NewServeMux()
	for _, p := range pages {
		if err := p.mount(mux); err != nil {
			return nil, &option.Error{Of: "serve.Debug", Field: p.Path, Err: err}
		}
	}
	for _, p := range []Page{
		{"/debug/pprof/profile", "processor time, over ?seconds=", http.HandlerFunc(cpuProfile)},
		{"/debug/pprof/trace", "execution trace, over ?seconds=", http.HandlerFunc(execTrace)},
		{"/debug/pprof/cmdline", "the command line", http.HandlerFunc(cmdline)},
		{"/debug/pprof/symbol", "names of program counters", http.HandlerFunc(symbol)},
	} {
		mux.Handle(p.Path, p.Handler)
		pages = append(pages, p)
	}
	slices.SortStableFunc(pages, func(a, b Page) int { return cmp.Compare(a.Path, b.Path) })
	mux.HandleFunc("/debug/pprof/{name}", lookup)
	index := func(w http.ResponseWriter, _ *http.Request) { writeIndex(w, pages) }
	mux.HandleFunc("/debug/pprof/{$}", index)
	mux.HandleFunc("/debug/{$}", index)
	return mux, nil
}

func (p Page) mount(mux *http.ServeMux) error {
	if !strings.HasPrefix(p.Path, "/debug/") || p.Path == "/debug/" || !isClean(p.Path) || strings.ContainsAny(p.Path, "{} \t") {
		return errors.New("must be a clean path below /debug/")
	}
	if p.Handler == nil {
		return errors.New("has no handler")
	}
	if _, taken := mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: p.Path}}); taken == p.Path || strings.HasPrefix(p.Path, "/debug/pprof/") {
		return errors.New("is taken")
	}
	mux.Handle(p.Path, p.Handler)
	return nil
}

// writeIndex uses no template: package text/template finds methods by name, so that the linker has
// to keep every method of every type in the program.
func writeIndex(w http.ResponseWriter, pages []Page) {
	all := slices.Clone(pages)
	for _, p := range pprof.Profiles() {
		all = append(all, Page{Path: path.Join("/debug/pprof", p.Name()), About: fmt.Sprintf("%d, as text with ?debug=1", p.Count())})
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	var b strings.Builder
	b.WriteString("<!doctype html>\n<title>debug</title>\n<table>\n")
	for _, p := range all {
		link := url.URL{Path: p.Path}
		fmt.Fprintf(&b, "<tr><td><a href=\"%s\">%s</a><td>%s\n",
			html.EscapeString(link.EscapedPath()), html.EscapeString(p.Path), html.EscapeString(p.About))
	}
	b.WriteString("</table>\n")
	// A write error is one of the connection.
	_, _ = io.WriteString(w, b.String())
}

func lookup(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	p := pprof.Lookup(name)
	if p == nil {
		http.Error(w, "there is no such profile", http.StatusNotFound)
		return
	}
	if r.FormValue("seconds") != "" {
		http.Error(w, "only profile and trace accept seconds", http.StatusBadRequest)
		return
	}
	if gc := r.FormValue("gc"); name == "heap" && gc != "" && gc != "0" {
		runtime.GC()
	}
	debug, _ := strconv.Atoi(r.FormValue("debug"))
	if debug > 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		download(w, name)
	}
	_ = p.WriteTo(w, debug)
}

func download(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
}

// runFor runs a profile for as long as the request asks.
func runFor(w http.ResponseWriter, r *http.Request, name string, usual time.Duration, start func() error, stop func()) {
	took, err := duration(r, usual, time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	download(w, name)
	if err := start(); err != nil {
		w.Header().Del("Content-Disposition")
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	defer stop()
	_ = run.Sleep(r.Context(), took)
}

// duration returns the time that a request asks for. It fails if the request ends sooner.
func duration(r *http.Request, usual time.Duration, now time.Time) (time.Duration, error) {
	// Writing the result takes some time, too.
	most := 24 * time.Hour
	if until, ok := r.Context().Deadline(); ok {
		most = max(until.Sub(now)-time.Second, 0)
	}
	text := r.FormValue("seconds")
	if text == "" {
		return min(usual, most), nil
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s > 0) {
		return 0, fmt.Errorf("seconds=%q is not a positive number", text)
	}
	if s > most.Seconds() {
		return 0, fmt.Errorf("seconds=%s is more than the %s that a request may take", text, most.Truncate(time.Second))
	}
	return time.Duration(s * float64(time.Second)), nil
}

func cpuProfile(w http.ResponseWriter, r *http.Request) {
	runFor(w, r, "profile", 30*time.Second, func() error { return pprof.StartCPUProfile(w) }, pprof.StopCPUProfile)
}

func execTrace(w http.ResponseWriter, r *http.Request) {
	runFor(w, r, "trace", time.Second, func() error { return trace.Start(w) }, trace.Stop)
}

func cmdline(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprint(w, strings.Join(os.Args, "\x00"))
}

// symbol answers that profiles contain their symbols.
func symbol(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintln(w, "num_symbols: 0")
}
