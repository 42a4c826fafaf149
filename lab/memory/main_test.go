package main

import (
	"strings"
	"testing"

	"github.com/flyball-io/flyball/lab/internal/suites"
)

func result(passed int, failed ...string) *suites.Result {
	r := &suites.Result{Report: suites.Report{Specs: passed + len(failed), Passed: passed, Failed: failed}}
	for _, f := range failed {
		r.Names = append(r.Names, title(f))
	}
	return r
}

// What fails in memory alone is a problem, unless the suite says why. So is a test that runs on the control plane alone.
func TestDifferencesAreJudged(t *testing.T) {
	s := suite{name: "s", differs: map[string]string{"known": "it is known"}}
	for _, tc := range []struct {
		name        string
		runs        runs
		bad, stated int
	}{
		{"nothing ran", runs{memory: result(0)}, 1, 0},
		{"all pass", runs{real: result(2), memory: result(2)}, 0, 0},
		{"in memory", runs{real: result(2), memory: result(1, "a\nno")}, 1, 0},
		{"for a reason", runs{real: result(2), memory: result(1, "a known one\nno")}, 0, 1},
		{"on both", runs{real: result(1, "a\nno"), memory: result(1, "a\nno")}, 2, 0},
		{"on both for a reason", runs{real: result(1, "known\nno"), memory: result(1, "known\nno")}, 0, 1},
		{"on the control plane alone", runs{real: &suites.Result{Report: suites.Report{Names: []string{"b"}}}, memory: result(1)}, 1, 0},
		{"over the fake", runs{own: result(1, "a\nno"), memory: result(1)}, 1, 0},
	} {
		bad, known := judge(s, tc.runs)
		if len(bad) != tc.bad || len(known) != tc.stated {
			t.Errorf("%s: problems %q, explained %q", tc.name, bad, known)
		}
	}
}

// A spec of the fake client fails for a reason that the words of the server give, and on the control plane, too.
func TestSpecsOfTheFakeAreArgued(t *testing.T) {
	s := suite{name: "fake", own: true}
	const invalid = "creates\nDeployment.apps \"a\" is invalid: spec.selector: Required value"
	if bad, known := judge(s, runs{real: result(1, invalid), memory: result(1, invalid)}); len(bad) != 0 || len(known) != 1 || !strings.Contains(known[0], "not valid") {
		t.Errorf("problems %q, explained %q", bad, known)
	}
	const race = "If a create races with an update for an object\nExpected\n    <bool>: false\nto be true"
	if bad, known := judge(s, runs{real: result(1, race), memory: result(1, race)}); len(bad) != 0 || len(known) != 1 || !strings.Contains(known[0], "no namespace") {
		t.Errorf("problems %q, explained %q", bad, known)
	}
	if bad, _ := judge(s, runs{real: result(2), memory: result(1, invalid)}); len(bad) != 1 {
		t.Errorf("it fails in memory alone: %q", bad)
	}
	if bad, _ := judge(s, runs{real: result(1, "creates\nodd"), memory: result(1, "creates\nodd")}); len(bad) != 1 {
		t.Errorf("no reason is known: %q", bad)
	}
}
