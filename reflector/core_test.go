package reflector

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

var update = flag.Bool("update", false, "write what the Core does into the scenarios")

// TestCoreFollowsItsScenarios tells stories to a Core. A line that starts with ">" is what happens; the lines
// below it are what the Core makes of it: what the sink gets, and what to do next, with the time
// until when.
func TestCoreFollowsItsScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(data))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := strings.Split(string(data), "\n")
			for i, line := range strings.Split(got, "\n") {
				if i >= len(want) || line != want[i] {
					t.Fatalf("%s:%d: the Core does\n%s", file, i+1, got)
				}
			}
		})
	}
}

// story is a Core and the clock it is told.
type story struct {
	core   *core
	now    time.Time
	random float64
	last   action
}

func newStory(cfg Options) *story {
	cfg.Resource = "pods"
	return &story{core: newCore(cfg), now: time.Unix(0, 0), random: 0.5}
}

func play(t *testing.T, script string) string {
	var out strings.Builder
	s := newStory(Options{})
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "> "):
			out.WriteString(line + "\n")
			if err := s.tell(&out, strings.Fields(line[2:])); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		case strings.HasPrefix(line, "  "):
		default:
			out.WriteString(line + "\n")
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

func (s *story) tell(out *strings.Builder, f []string) (err error) {
	switch f[0] {
	case "new":
		cfg := Options{Paged: len(f) > 1 && f[1] == "paged"}
		if len(f) > 2 {
			every, audits := strings.CutPrefix(f[2], "audit=")
			if !audits {
				cfg.Namespace = f[2]
			} else if cfg.Audit, err = time.ParseDuration(every); err != nil {
				return err
			}
		}
		*s = *newStory(cfg)
		return nil
	case "random":
		r, err := strconv.ParseFloat(f[1], 64)
		s.random = r
		return err
	case "pass":
		d, err := time.ParseDuration(f[1])
		s.now = s.now.Add(d)
		return err
	case "state":
		st := s.core.State()
		fmt.Fprintf(out, "  %s since %v, synced=%v, at %s, relists %v, restarts %v, probes %d, episode %d\n", st.Phase,
			s.now.Sub(st.Since), st.HasSynced, quoteEmpty(st.ResourceVersion), st.Relists, st.Restarts, st.Probes, st.Episode)
		if st.Err != nil {
			fmt.Fprintf(out, "  error: %v\n", st.Err)
		}
		return nil
	case "timer":
		if s.last.until.IsZero() {
			return errors.New("there is no timer")
		}
		s.now = s.last.until
	}
	in, err := parseInput(f)
	if err != nil {
		return err
	}
	o := s.core.Step(s.now, s.random, in)
	for i := range o.updates {
		fmt.Fprintf(out, "  %s\n", showUpdate(&o.updates[i]))
	}
	s.last = o.next
	fmt.Fprintf(out, "  %s", showAction(o.next))
	if !o.next.until.IsZero() {
		fmt.Fprintf(out, ", until +%v", o.next.until.Sub(s.now))
	}
	out.WriteByte('\n')
	return nil
}

func parseInput(f []string) (input, error) {
	var in input
	switch f[0] {
	case "start":
		in.event = started
	case "stop":
		in = input{event: stopAsked, err: errors.New("enough")}
	case "opened":
		in.event = opened
	case "timer":
		in.event = timedOut
	case "item", "added", "modified", "deleted":
		if in.event = frameCame; f[0] == "item" {
			in.event = itemCame
		}
		in.what = map[string]wire.EventType{"added": wire.Added, "modified": wire.Modified, "deleted": wire.Deleted}[f[0]]
		name, version, _ := strings.Cut(f[1], "@")
		key := object.Key{Name: strings.TrimSuffix(name, "?")} // "?": no name
		if ns, name, ok := strings.Cut(name, "/"); ok {
			key = object.Key{Namespace: ns, Name: name}
		}
		var err error
		if len(f) > 2 {
			err = errors.New(f[2])
		}
		in.entry = store.Rejected(object.Header{Key: key, ResourceVersion: version}, err)
	case "page":
		in = input{event: pageCame, version: strings.TrimPrefix(f[1], "@")}
		if len(f) > 2 {
			in.cont = f[2]
		}
	case "bookmark":
		in = input{event: frameCame, what: wire.Bookmark, version: strings.TrimPrefix(f[1], "@"), initialEnd: len(f) > 2}
		if f[1] == "garbage" {
			in = input{event: frameCame, what: wire.Bookmark, err: scriptedError(f[1:])}
		}
	case "discovered":
		in = input{event: discovered, answer: MissingError{Here: slices.Contains(f, "here"), Gone: f[1] == "gone"}}
		if f[1] == "elsewhere" {
			in.answer.Elsewhere = f[2:]
		}
	case "end":
		in.event = ended
		if len(f) > 1 {
			in.err = scriptedError(f[1:])
		}
	default:
		return in, fmt.Errorf("what is %q?", f[0])
	}
	return in, nil
}

func scriptedError(f []string) error {
	switch f[0] {
	case "cut":
		return &wire.TruncatedError{Offset: 7}
	case "reset":
		return errors.New("connection reset")
	case "html":
		return &wire.ContentTypeError{ContentType: "text/html"}
	case "garbage":
		return &wire.SyntaxError{Encoding: wire.JSON, Offset: 7, Err: io.ErrNoProgress}
	}
	s := metav1.Status{Status: metav1.StatusFailure, Message: strings.Join(f, " "), Details: &metav1.StatusDetails{}}
	code, _ := strconv.Atoi(f[0])
	s.Code = int32(code)
	if len(f) > 1 {
		switch f[1] {
		case "StorageReadError":
			s.Reason = metav1.StatusReasonStoreReadError
		case "type":
			s.Reason = metav1.StatusReasonTimeout
			s.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
		case "cause":
			s.Reason = metav1.StatusReasonTimeout
			s.Details.Causes = []metav1.StatusCause{{Message: "Too large resource version"}}
		case "message":
			s.Reason = metav1.StatusReasonTimeout
			s.Message = "Timeout: Too large resource version: 100, current: 90"
		case "after":
			n, _ := strconv.Atoi(f[2])
			s.Details.RetryAfterSeconds = int32(n)
		}
	}
	return &apierrors.StatusError{ErrStatus: s}
}

func TestErrorsHaveTheirCauses(t *testing.T) {
	status := func(code int32, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: "m"}}
	}
	for _, test := range []struct {
		err  error
		want cause
	}{
		{nil, broken},
		{io.ErrUnexpectedEOF, broken},
		{&wire.TruncatedError{}, broken},
		{&wire.SyntaxError{Err: io.EOF}, garbage},
		{fmt.Errorf("watch: %w", &wire.EventTypeError{Type: "X"}), garbage},
		{&wire.TooLargeError{}, garbage},
		{&wire.KindError{}, garbage},
		{&wire.StatusError{Status: metav1.Status{Code: 410}}, expired},
		{status(0, metav1.StatusReasonExpired), expired},
		{status(410, metav1.StatusReasonGone), expired},
		{scriptedError([]string{"504", "type"}), tooLarge},
		{scriptedError([]string{"504", "cause"}), tooLarge},
		{scriptedError([]string{"504", "message"}), tooLarge},
		{status(504, metav1.StatusReasonTimeout), server},
		{status(http.StatusTooManyRequests, ""), busy},
		{status(403, ""), forbidden},
		{status(404, metav1.StatusReasonNotFound), notFound},
		{status(405, ""), notFound},
		{&wire.ContentTypeError{ContentType: "text/html"}, notAPI},
		{status(401, metav1.StatusReasonUnauthorized), server},
		{status(400, metav1.StatusReasonBadRequest), refused},
		{status(422, metav1.StatusReasonInvalid), refused},
		{status(500, ""), server},
		{status(500, metav1.StatusReasonStoreReadError), unreadable},
		{status(503, ""), server},
	} {
		if got, _ := classify(test.err); got != test.want {
			t.Errorf("%v: %v, want %v", test.err, got, test.want)
		}
	}
}

// showUpdate writes an update.
func showUpdate(u *Update) string {
	name := func(e *store.Entry) string { return e.Key().String() + "@" + e.ResourceVersion() }
	switch u.What {
	case Replace:
		s := "begin " + u.Reason
		if u.Reset {
			s += ", reset"
		}
		return s
	case Put:
		return "upsert " + name(u.Entry)
	case Delete:
		return "delete " + name(u.Entry)
	case Sweep:
		text := "complete at " + quoteEmpty(u.Version)
		if u.Audited != "" {
			text += ", audits " + u.Audited
		}
		return text
	case Discard:
		return "abort"
	case Unusable:
		return fmt.Sprintf("report %s at %s: %v", quoteEmpty(u.Key.String()), quoteEmpty(u.ResourceVersion), u.Err)
	}
	return "nothing"
}

func quoteEmpty(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// showAction writes an action without until.
func showAction(a action) string {
	var b strings.Builder
	switch a.do {
	case doList, doProbe:
		b.WriteString("list")
		if a.do == doProbe {
			b.Reset()
			b.WriteString("probe")
		}
		if a.cont != "" {
			fmt.Fprintf(&b, " continue=%s", a.cont)
		} else {
			b.WriteString(map[bool]string{true: " exactly"}[a.exact])
			fmt.Fprintf(&b, " at %s", quoteEmpty(a.version))
		}
		fmt.Fprintf(&b, " limit=%d", a.limit)
	case doDiscover:
		b.WriteString("discover")
		if a.prove {
			b.WriteString(", prove")
		}
	case doWatch:
		b.WriteString("watch")
		if a.initial {
			b.WriteString(" initial")
		}
		fmt.Fprintf(&b, " at %s for %v", quoteEmpty(a.version), a.timeout.Round(time.Second))
	case doRead:
		b.WriteString("read")
	case doWait:
		b.WriteString("wait")
	case doHalt:
		b.WriteString("halt")
	}
	return b.String()
}
