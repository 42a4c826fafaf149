package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/simreport"
)

// A plan that goes wrong is a finding. A check without an end, or one that has a problem of its own, is an error.
func TestChecksAreJudged(t *testing.T) {
	failure := errors.New("exit status 1")
	for _, tc := range []struct {
		name string
		r    *simreport.Report
		want string // a part of the error; "" means none
	}{
		{"nothing is wrong", &simreport.Report{Done: true}, ""},
		{"findings", &simreport.Report{Done: true, Failed: 3}, ""},
		{"the process died", &simreport.Report{}, "did not come to its end: exit status 1"},
		{"nothing ran", nil, "did not come to its end"},
		{"it cannot run", &simreport.Report{Done: true, Problems: []string{"without a fault: no"}}, "without a fault: no"},
	} {
		dir := t.TempDir()
		if tc.r != nil {
			tc.r.Format = simreport.Format
			if err := tc.r.Write(filepath.Join(dir, "a.json")); err != nil {
				t.Fatal(err)
			}
		}
		_, err := judged(dir, failure)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	r := &simreport.Report{Singles: 9, SinglesTried: 8, Pairs: 7, Runs: 6, Failed: 5, Seconds: 61}
	if got, want := row(operator{name: "o", version: "v1"}, r), "| o v1 | 9 | 8 | 7 | 6 | 5 | 1m1s |\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Each operator has a scenario.
func TestScenariosAreThere(t *testing.T) {
	for _, o := range operators {
		if _, err := scenarios.ReadFile(o.scenario()); err != nil {
			t.Error(err)
		}
	}
}
