package probe_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/ops/probe"
)

// A check that has never been in order is no warning for 30 seconds: a program that starts is not ready at once.
// After that, and after it has been in order, each failure is one. The log has no line without a change. The test
// goes through all sequences of four answers.
func TestOnlyALastingOrNewFailureIsAWarning(t *testing.T) {
	const patience = 30 * time.Second
	answers := map[string]func() error{
		"ok":      func() error { return nil },
		"fails":   func() error { return errors.New("down") },
		"excused": func() error { return &probe.ExcusedError{Why: "later", Err: errors.New("down")} },
		"panics":  func() error { panic("boom") },
	}
	var sequence func(done []step)
	sequence = func(done []step) {
		if len(done) == 4 {
			synctest.Test(t, func(t *testing.T) { follow(t, patience, answers, done) })
			return
		}
		for answer := range answers {
			for _, pause := range []time.Duration{time.Second, patience} {
				sequence(append(done[:len(done):len(done)], step{pause, answer}))
			}
		}
	}
	sequence(nil)
}

// step is an answer after a pause.
type step struct {
	pause  time.Duration
	answer string
}

func follow(t *testing.T, patience time.Duration, answers map[string]func() error, steps []step) {
	var text bytes.Buffer
	s := newSet(t, probe.Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
	var now string
	add(t, s, "cache", func(context.Context) error { return answers[now]() })
	var began time.Time
	worked, warned, before := false, false, "ok"
	for i, st := range steps {
		time.Sleep(st.pause)
		if i == 0 {
			began = time.Now()
		}
		now = st.answer
		text.Reset()
		s.Check(t.Context())
		lines, warns := strings.Count(text.String(), "\n"), strings.Count(text.String(), "level=WARN")
		loud := now != "ok" && (worked || warned || now == "panics" || time.Since(began) >= patience)
		kind := strings.ReplaceAll(now, "panics", "fails")
		changed := kind != before
		wantLines, wantWarns := 0, 0
		if changed || loud && !warned {
			wantLines = 1
			if loud {
				wantWarns = 1
			}
		}
		if lines != wantLines || warns != wantWarns {
			t.Errorf("%v: after %d: %d lines and %d warnings, want %d and %d:\n%s", steps, i+1, lines, warns, wantLines, wantWarns, text.String())
		}
		worked, warned, before = worked || now == "ok", loud, kind
	}
}
