package control

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func added(keys ...string) (out []Change) {
	for _, k := range keys {
		out = append(out, Change{Key: k, Is: &Meta{}})
	}
	return out
}

// A key is reconciled when a change is about it, again after a failure, later each time, and at the time that it
// has asked for.
func TestKeyed(t *testing.T) {
	var seen []string
	fail := map[string]bool{"/b": true}
	var again time.Time
	k := &Keyed{
		Title: "test",
		Map:   func(_ *State, c Change, add func(string)) { add(c.Key); add("/all") },
		Reconcile: func(_ time.Time, _ *State, key string) (r Result) {
			seen = append(seen, key)
			if fail[key] {
				r.Requests = []core.Request{{Method: "PUT", URL: key}, {Method: "PUT", URL: key + "/second"}}
			}
			if key == "/all" {
				r.At = again
			}
			return r
		},
		Failed: func(_ time.Time, _ *State, key string, r core.Request, s *metav1.Status) []core.Request {
			seen = append(seen, fmt.Sprintf("%s failed: %s %s", key, r.URL, s.Reason))
			return nil
		},
	}
	step := func(now time.Time, want string, changes ...Change) time.Time {
		t.Helper()
		seen = nil
		requests, due := k.Step(now, newState(), changes)
		if got := fmt.Sprint(seen); got != want {
			t.Errorf("at %v: %s, want %s", now.Sub(start), got, want)
		}
		if len(requests) > 0 {
			k.Answer(now, requests[0], core.Answer{Code: 409, Body: []byte(`{"reason":"Conflict"}`)})
		}
		return due
	}
	if due := step(start, "[/b /all /a]", added("/b", "/a", "/b")...); !due.IsZero() {
		t.Errorf("due at %v", due)
	}
	now := start
	for _, delay := range []time.Duration{5, 10, 20} {
		due := step(now, "[/b failed: /b Conflict]")
		if got := due.Sub(now); got != delay*time.Millisecond {
			t.Fatalf("again %v after a failure, want %v", got, delay*time.Millisecond)
		}
		now = due
		step(now, "[/b]")
	}
	fail = nil
	now = step(now, "[/b failed: /b Conflict]")
	step(now, "[/b]")
	if len(k.attempts) != 0 {
		t.Errorf("failures are remembered: %v", k.attempts)
	}
	again = now.Add(time.Hour)
	if due := step(now, "[/x /all]", added("/x")...); !due.Equal(again) {
		t.Errorf("due at %v, want %v", due, again)
	}
	step(again, "[/all]")
}

// A key waits once, for the earliest of its times.
func TestQueue(t *testing.T) {
	var q queue
	if !q.due().IsZero() {
		t.Error("an empty queue is due")
	}
	q.add("b")
	q.add("a")
	q.add("b")
	q.at("c", start.Add(2*time.Second))
	q.at("c", start.Add(time.Second))
	q.at("c", start.Add(3*time.Second))
	q.at("d", start.Add(time.Second))
	if got := q.due(); !got.Equal(start.Add(time.Second)) {
		t.Errorf("due at %v", got)
	}
	if got := q.ready(start); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("%v", got)
	}
	if got := q.ready(start.Add(time.Second)); !slices.Equal(got, []string{"c", "d"}) {
		t.Errorf("%v", got)
	}
	if got := q.ready(start.Add(time.Hour)); got != nil || !q.due().IsZero() {
		t.Errorf("%v", got)
	}
}

func TestChoose(t *testing.T) {
	known := []Known{{Name: "a-controller", Short: "a"}, {Name: "b-controller", Short: "b"}, {Name: "c", Short: "c"}}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, "[]"},
		{[]string{"*"}, "[a b c]"},
		{[]string{"*", "-b"}, "[a c]"},
		{[]string{"-b-controller", "*"}, "[a c]"},
		{[]string{"c", "a-controller"}, "[a c]"},
		{[]string{"a", "-a"}, "[]"},
		{[]string{"d"}, `there is no controller "d"; there are *, a, b, c`},
		{[]string{"*", "-d"}, `there is no controller "d"; there are *, a, b, c`},
	} {
		chosen, err := Choose(known, c.names)
		var got []string
		for _, k := range chosen {
			got = append(got, k.Short)
		}
		text := fmt.Sprint(got)
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%v: %s, want %s", c.names, text, c.want)
		}
	}
}
