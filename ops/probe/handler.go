package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/flyball-io/flyball/run"
)

// Handler serves the set under its name, with GET and HEAD:
//
//	/readyz                  200 and "ok", or 503 and the list of all checks
//	/readyz?verbose          the list in any case
//	/readyz?exclude=NAME     without a check; may be repeated. An unknown name is reported
//	/readyz/NAME             one check: 200 and "ok", 503 and the reason, 404 if there is none
//
// An excused check does not fail; the list shows it with its reason. Answers contain the names of
// the checks. They contain the reasons of failures, verbose or not, unless Options.Withhold is set;
// the log has the reasons then. Answers may be as old as Options.MaxAge.
//
// A kubelet treats 503 as it treats every other code from 400 on. Serve both paths, "/readyz" and
// "/readyz/", or call [Set.Mount].
func (s *Set) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Mount registers the Handler at its two paths, "/NAME" and "/NAME/".
func (s *Set) Mount(mux *http.ServeMux) {
	mux.Handle("/"+s.name, s.Handler())
	mux.Handle("/"+s.name+"/", s.Handler())
}

func (s *Set) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		reply(w, http.StatusMethodNotAllowed, "only GET and HEAD\n")
		return
	}
	below, ok := strings.CutPrefix(r.URL.Path, "/"+s.name)
	switch {
	case !ok || below != "" && below[0] != '/':
		reply(w, http.StatusNotFound, "there is no such probe\n")
	case below == "" || below == "/":
		s.serveAll(w, r)
	default:
		s.serveOne(w, r, below[1:])
	}
}

func (s *Set) serveAll(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	exclude := slices.Compact(slices.Sorted(slices.Values(query["exclude"])))
	outcomes, left := s.outcomes(r.Context(), s.o.MaxAge, exclude)
	unknown := slices.DeleteFunc(exclude, func(name string) bool { return slices.Contains(left, name) })
	bad := slices.ContainsFunc(outcomes, func(r Outcome) bool { return r.Err != nil })
	if _, verbose := query["verbose"]; !bad && !verbose && len(unknown) == 0 {
		reply(w, http.StatusOK, "ok")
		return
	}
	var b strings.Builder
	for _, r := range outcomes {
		s.writeLine(&b, r)
	}
	for _, name := range left {
		fmt.Fprintf(&b, "[+]%s excluded: ok\n", name)
	}
	if len(unknown) > 0 {
		fmt.Fprintf(&b, "warn: no checks to exclude have the names %s\n", quoted(unknown))
	}
	code, verdict := http.StatusOK, "passed"
	if bad {
		code, verdict = http.StatusServiceUnavailable, "failed"
	}
	fmt.Fprintf(&b, "%s check %s\n", s.name, verdict)
	reply(w, code, b.String())
}

func (s *Set) serveOne(w http.ResponseWriter, r *http.Request, name string) {
	result, ok := s.find(r.Context(), name)
	if !ok {
		reply(w, http.StatusNotFound, fmt.Sprintf("there is no check %s\n", quoted([]string{name})))
		return
	}
	_, verbose := r.URL.Query()["verbose"]
	if result.Err == nil && !verbose {
		reply(w, http.StatusOK, "ok")
		return
	}
	var b strings.Builder
	s.writeLine(&b, result)
	code := http.StatusOK
	if result.Err != nil {
		code = http.StatusServiceUnavailable
	}
	reply(w, code, b.String())
}

// find runs one check, or the groups if no check has the name.
func (s *Set) find(ctx context.Context, name string) (Outcome, bool) {
	asked := s.all()
	if i := slices.IndexFunc(asked, func(c *check) bool { return !c.group && c.name == name }); i >= 0 {
		asked = asked[i : i+1]
	} else {
		asked = slices.DeleteFunc(asked, func(c *check) bool { return !c.group })
	}
	for _, outcomes := range askAll(ctx, asked, s.o.MaxAge) {
		for _, r := range outcomes {
			if r.Name == name {
				return r, true
			}
		}
	}
	return Outcome{}, false
}

func (s *Set) writeLine(b *strings.Builder, r Outcome) {
	switch {
	case r.Excused != nil && s.o.Withhold:
		fmt.Fprintf(b, "[+]%s excused: reason withheld\n", r.Name)
	case r.Excused != nil:
		fmt.Fprintf(b, "[+]%s excused: %s: %s\n", r.Name, r.Excused.Why, reason(r.Excused.Err))
	case r.Err == nil:
		fmt.Fprintf(b, "[+]%s ok\n", r.Name)
	case s.o.Withhold:
		fmt.Fprintf(b, "[-]%s failed: reason withheld\n", r.Name)
	default:
		fmt.Fprintf(b, "[-]%s failed: %s\n", r.Name, reason(r.Err))
	}
}

func reply(w http.ResponseWriter, code int, text string) {
	w.WriteHeader(code)
	// A write error is one of the connection.
	_, _ = w.Write([]byte(text))
}

const maxReason = 512

// secret is a pattern, and its replacement.
type secret struct {
	pattern     *regexp.Regexp
	replacement string
}

// secrets match confidential data that errors contain by accident: credentials and queries in URLs,
// and tokens. The patterns are compiled on first use, so programs without reasons do not pay for
// them.
var secrets = sync.OnceValue(func() []secret {
	return []secret{
		{regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@]*@`), "$1…@"},
		{regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s?"]*)\?[^\s"]*`), "$1?…"},
		{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}`), "$1 …"},
		{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?`), "…"},
		{regexp.MustCompile(`(?i)\b(password|passwd|token|secret|api[_-]?key)\s*[=:]\s*[^\s,;"]+`), "$1=…"},
		{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]+-----.*?(-----END [A-Z ]+-----|$)`), "…"},
	}
})

// reason returns the text of an error for an answer: one line of at most 512 bytes. Text that looks
// like credentials is removed. A panic is only "panicked".
func reason(err error) string {
	if _, ok := errors.AsType[*run.PanicError](err); ok {
		return "panicked"
	}
	text := err.Error()
	if len(text) > 16*maxReason {
		text = text[:16*maxReason]
	}
	for _, s := range secrets() {
		text = s.pattern.ReplaceAllString(text, s.replacement)
	}
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

// quoted quotes names from a request, with bounded length.
func quoted(names []string) string {
	const most = 10
	var out []string
	for _, n := range names[:min(len(names), most)] {
		if len(n) > 128 {
			n = n[:128]
		}
		out = append(out, fmt.Sprintf("%+q", n))
	}
	if len(names) > most {
		out = append(out, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(out, ", ")
}
