package control

import (
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// A panic over one object leaves the others of a keyed controller alone, and is reported once with its object.
func TestPanicCostsOneKey(t *testing.T) {
	var seen, lines []string
	k := &Keyed{
		Title: "odd",
		Map:   func(_ *State, c Change, add func(string)) { add(c.Key) },
		Reconcile: func(_ time.Time, _ *State, key string) Result {
			seen = append(seen, key)
			if key == "/b" {
				var none *Meta
				_ = none.Name
			}
			return Result{}
		},
	}
	s := NewSet(nil, Options{Report: func(line string) { lines = append(lines, line) }})
	s.state = newState()
	for range 2 {
		if _, _, ok := s.guarded(start, k, added("/a", "/b", "/c")); !ok {
			t.Fatal("the controller has ended")
		}
	}
	if got := strings.Join(seen, " "); got != "/a /b /c /a /b /c" {
		t.Errorf("reconciled %s", got)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], `"odd" cannot reconcile /b: panic: runtime error: invalid memory address or nil pointer dereference, at trouble_test.go:`) {
		t.Errorf("lines: %q", lines)
	}
}

// whole is a controller that panics as a whole, at first.
type whole struct{ left *int }

func (whole) Name() string { return "whole" }

func (w whole) Step(time.Time, *State, []Change) ([]Request, time.Time) {
	if *w.left--; *w.left >= 0 {
		panic("not yet")
	}
	return []Request{{Request: core.Request{URL: "/done"}}}, time.Time{}
}

func (whole) Answer(time.Time, Request, core.Answer) {}

// A controller that panics as a whole begins anew, with all others, a second later.
func TestPanicOfAWholeController(t *testing.T) {
	left, lines := 3, 0
	s := NewSet([]Known{{New: func(Options) Controller { return whole{&left} }}}, Options{Report: func(string) { lines++ }})
	view := core.New(core.Options{}).Now()
	now := start
	for range 3 {
		requests, due := s.Step(now, view)
		if len(requests) > 0 || !due.Equal(now.Add(afterPanic)) {
			t.Fatalf("%v, due %v", requests, due.Sub(now))
		}
		now = due
	}
	if requests, _ := s.Step(now, view); len(requests) != 1 || lines != 1 {
		t.Errorf("%v after %d lines", requests, lines)
	}
}
