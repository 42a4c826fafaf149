package probe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flyball-io/flyball/ops/probe"
)

// An excused check does not fail the set. The list shows it with its reason.
func TestExcusedCheckFailsNothing(t *testing.T) {
	sorry := &probe.ExcusedError{Why: "it waits for us", Err: errors.New("list orders: password=x")}
	for _, withhold := range []bool{false, true} {
		s := newSet(t, probe.Options{Withhold: withhold})
		add(t, s, "alone", func(context.Context) error { return sorry })
		addGroup(t, s, "caches", func(context.Context) map[string]error {
			return map[string]error{"cache-orders": sorry, "cache-pods": nil}
		})
		said := "excused: it waits for us: list orders: password=…\n"
		if withhold {
			said = "excused: reason withheld\n"
		}
		for path, body := range map[string]string{
			"/readyz":                      "ok",
			"/readyz?verbose":              "[+]alone " + said + "[+]cache-orders " + said + "[+]cache-pods ok\nreadyz check passed\n",
			"/readyz/cache-orders":         "ok",
			"/readyz/cache-orders?verbose": "[+]cache-orders " + said,
		} {
			if w := get(s.Handler(), path); w.Code != 200 || w.Body.String() != body {
				t.Errorf("%s: %d %q, want %q", path, w.Code, w.Body, body)
			}
		}
		if err := s.Err(t.Context()); err != nil {
			t.Error(err)
		}
		for _, r := range s.Check(t.Context()) {
			if (r.Excused == sorry) != (r.Name != "cache-pods") {
				t.Errorf("%+v", r)
			}
		}
		// An Excused that is wrapped, or joined with an error, does not excuse the check.
		remove := add(t, s, "joined", func(context.Context) error { return errors.Join(sorry, errors.New("worse")) })
		if s.Err(t.Context()) == nil {
			t.Error("an excuse hides another error")
		}
		remove()
	}
}

// The log shows the state of a check when it changes.
func TestLogHasChangesOfExcusedChecks(t *testing.T) {
	var text bytes.Buffer
	s := newSet(t, probe.Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
	var is atomic.Value
	add(t, s, "cache", func(context.Context) error {
		switch down := errors.New("down"); is.Load() {
		case "fails":
			return down
		case "excused":
			return &probe.ExcusedError{Why: "later", Err: down}
		}
		return nil
	})
	for _, v := range []string{"", "fails", "excused", "excused", "", "excused", "fails", ""} {
		is.Store(v)
		get(s.Handler(), "/readyz")
	}
	var got []string
	for line := range strings.Lines(text.String()) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), "msg=")
		got = append(got, rest)
	}
	fails, excused, fine := `"check fails" probe=readyz check=cache err=down`, `"check is excused" probe=readyz check=cache why=later err=down`, `"check is in order again" probe=readyz check=cache`
	if want := []string{fails, excused, fine, excused, fails, fine}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%s", text.String())
	}
}
