package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/simreport"
	"github.com/flyball-io/flyball/sim/internal/plan"
	"github.com/flyball-io/flyball/sim/internal/search"
	"github.com/flyball-io/flyball/sim/internal/world"
)

// The report of a large check is bounded. It counts what it leaves out.
func TestReportsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	c := &checker{reference: &world.Outcome{}}
	for i := range 10_000 {
		c.reference.Points = append(c.reference.Points, plan.Point{Step: 1, Verb: "get", Object: fmt.Sprint("pods/", i, long[:1000]), Nth: 1})
		c.reference.Trace = append(c.reference.Trace, world.Entry{Step: i % 2, Text: long[:1000]})
	}
	for range 1000 {
		c.Steps = append(c.Steps, Step{name: long})
	}
	r := newRecorder(t, c.Scenario)
	var wrong []string
	for range 1000 {
		wrong = append(wrong, long)
	}
	for range 100 {
		r.story(c, search.Result{Plan: plan.Plan{{Kind: plan.RequestLost, At: plan.Point{Step: 1, Verb: "get", Object: long}}}, Outcome: &world.Outcome{Trace: c.reference.Trace}, Failures: wrong})
	}
	r.searched(c, search.New(search.Options{}))
	text, err := json.Marshal(r.report)
	if err != nil || len(text) > 32<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	o := r.report
	if len(o.Points)+o.Left != 10_000 || o.Counts["read"] != 10_000 || len(o.Stories)+o.StoriesLeft != 100 {
		t.Errorf("%d points and %d, %d stories and %d", len(o.Points), o.Left, len(o.Stories), o.StoriesLeft)
	}
}

// The entries of a trace that are left out are counted, where they were.
func TestTracesAreCut(t *testing.T) {
	var all []world.Entry
	for i := range 2000 {
		all = append(all, world.Entry{Text: fmt.Sprint(i)})
	}
	for _, n := range []int{0, 1, maxEntries, maxEntries + 1, 2000} {
		for _, before := range []int{0, min(n, 7)} {
			got := traceOf(all[:n], before)
			var want []string
			for i, e := range got.Entries {
				at := before + i
				if i >= got.CutAt {
					at += got.Cut
				}
				want = append(want, fmt.Sprint(at))
				if e.Text != want[i] {
					t.Fatalf("%d entries, %d before: entry %d is %s, want %s", n, before, i, e.Text, want[i])
				}
			}
			if len(got.Entries)+got.Cut+before != n || got.Before != before || len(got.Entries) > maxEntries {
				t.Errorf("%d entries, %d before: %d, and %d cut", n, before, len(got.Entries), got.Cut)
			}
		}
	}
}

// The command that repeats a plan is one of a shell, whatever is in names.
func TestCommandsAreQuoted(t *testing.T) {
	p := plan.Plan{{Kind: plan.RequestLost, At: plan.Point{Step: 1, Verb: "get", Object: "roles/a/$(reboot)'`x`", Nth: 1}}}
	if got, want := again("TestA/b(c)", p.String()), `go test -run '^TestA$/^b\(c\)$' -sim.replay='timeout@1:get:roles/a/$(reboot)'\''`+"`x`'"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Points have one of the kinds that a report knows.
func TestKindsOfPoints(t *testing.T) {
	for verb, want := range map[string]string{"begin": "step", "ADDED": "event", "create": "write", "deletecollection": "write", "list": "read", "watch": "read", "get": "read"} {
		if got := kindOf(plan.Point{Verb: verb}); got != want {
			t.Errorf("%s: %s, want %s", verb, got, want)
		}
	}
	if len(simreport.Kinds) != 4 {
		t.Error(simreport.Kinds)
	}
}
