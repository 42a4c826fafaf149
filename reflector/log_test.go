package reflector

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What a person has to know is a warning or an error; that the server is busy for a moment is not.
func TestOnlyWhatMattersIsAWarning(t *testing.T) {
	start := time.Unix(1_000, 0)
	reinit := &Error{Verb: "list", Resource: "orders", Err: apierrors.NewTooManyRequests("storage is (re)initializing", 1)}
	refused := &Error{Verb: "list", Resource: "orders", Err: errors.New("connection refused")}
	state := func(p Phase, err error, retry time.Duration) State {
		return State{Phase: p, Err: err, Since: start, RetryAt: start.Add(retry), Episode: 1}
	}
	synced := State{Phase: Synced, Episode: 1}
	for _, x := range []struct {
		name   string
		states []State
		want   string
	}{
		{"busy for a moment at the start", []State{state(Failing, reinit, time.Second), state(Failing, reinit, 3*time.Second), synced}, "INFO the server asks for a pause, INFO in sync again"},
		{"busy for a moment later", []State{state(Stale, reinit, time.Second), synced}, "INFO the server asks for a pause, INFO in sync again"},
		{"busy for long", []State{state(Failing, reinit, time.Second), state(Failing, reinit, time.Minute), state(Failing, reinit, 2*time.Minute), synced}, "INFO the server asks for a pause, WARN lost the server, will try again, INFO in sync again"},
		{"asks for a long pause", []State{state(Stale, reinit, time.Hour)}, "WARN lost the server, will try again"},
		{"busy, then away", []State{state(Failing, reinit, time.Second), state(Failing, refused, 2*time.Second), state(Failing, reinit, 3*time.Second)}, "INFO the server asks for a pause, WARN lost the server, will try again"},
		{"away", []State{state(Failing, refused, time.Second), synced}, "WARN lost the server, will try again, INFO in sync again"},
		{"nothing was wrong", []State{synced}, ""},
	} {
		var text bytes.Buffer
		l := &log{to: slog.New(slog.NewTextHandler(&text, nil))}
		for _, s := range x.states {
			l.state(&s)
		}
		var got []string
		for line := range strings.Lines(text.String()) {
			_, line, _ = strings.Cut(line, "level=")
			level, line, _ := strings.Cut(line, " msg=")
			msg, _, _ := strings.Cut(line, " phase=")
			got = append(got, level+" "+strings.Trim(strings.TrimSpace(msg), `"`))
		}
		if got := strings.Join(got, ", "); got != x.want {
			t.Errorf("%s:\n got %s\nwant %s", x.name, got, x.want)
		}
	}
}
