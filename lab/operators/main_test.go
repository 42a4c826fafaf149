package main

import (
	"strings"
	"testing"

	"github.com/flyball-io/flyball/lab/internal/suites"
)

// What fails over the packed cache alone is an error, and so is a run that shows nothing.
func TestRunsAreJudged(t *testing.T) {
	of := func(caches, passed int, failed ...string) *result {
		return &result{Report: suites.Report{Specs: passed + len(failed), Passed: passed, Failed: failed}, caches: caches, peak: 100 << 20}
	}
	for _, tc := range []struct {
		name    string
		was, is *result
		want    string // parts of the errors, separated by commas
	}{
		{"all pass", of(1, 3), of(1, 3), ""},
		{"one fails", of(1, 3), of(1, 2, "A\nno"), "packed cache: A"},
		{"it fails over both", of(1, 2, "A\nno"), of(1, 2, "A\nnot this time"), ""},
		{"another fails", of(1, 2, "A"), of(1, 2, "B"), "packed cache: B"},
		{"fewer ran", of(1, 3), of(1, 2), "3 tests passed, default cache, and 2, packed cache"},
		{"none ran", of(1, 0), of(1, 0), "no test ran"},
		{"no cache", of(1, 3), of(0, 3), "no test made a cache"},
		{"the default cache did not run", nil, of(1, 2, "A"), "packed cache: A"},
	} {
		bad := caches.judge("x", tc.was, tc.is)
		var text []string
		for _, err := range bad {
			text = append(text, err.Error())
		}
		got := strings.Join(text, ",")
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if got, want := caches.row(operators[1], "p", of(1, 3), of(2, 3)), "| karpenter v1.14.1 | `p` | 3 | 3 | 3 | 2 | 100 MB | 100 MB |"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := servers.row(operators[1], "p", nil, of(1, 3)), "| karpenter v1.14.1 | `p` | 3 | not run | 3 | – | 0s |"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if bad := servers.judge("x", of(1, 3), of(1, 2, "A")); len(bad) != 1 || bad[0].Error() != "x, in memory: A" {
		t.Errorf("%q", bad)
	}
}
