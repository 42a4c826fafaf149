package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/adapter/internal/suites"
)

// The test binary itself stands for tests of an operator that hang.
const hangEnv = "FLYBALL_TEST_HANG"

func TestMain(m *testing.M) {
	switch os.Getenv(hangEnv) {
	case "a test":
		if err := flag.Set("test.run", "^TestThatHangs$"); err != nil {
			panic(err)
		}
	case "before the tests":
		time.Sleep(time.Hour) // not select {}, which Go finds
	}
	os.Exit(m.Run())
}

func TestThatHangs(t *testing.T) {
	if os.Getenv(hangEnv) == "" {
		t.Skip("it is run by TestWhatHangsHasFailed")
	}
	time.Sleep(time.Hour)
}

func TestWhatHangsHasFailed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ hangs, want, log string }{
		{"a test", "TestThatHangs\ntest timed out after 300ms", "panic: test timed out"},
		{"before the tests", "the test process\nit did not end in 400ms", "operators.TestMain("}, // the goroutines
	} {
		dir := t.TempDir()
		tests := &tests{name: "x", dir: dir, bound: 300 * time.Millisecond, graceful: 100 * time.Millisecond}
		if tc.hangs == "a test" {
			tests.graceful = time.Minute
		}
		log := filepath.Join(dir, "log")
		r, err := tests.execute(t.Context(), self, append(os.Environ(), hangEnv+"="+tc.hangs), filepath.Join(dir, "report"), log)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Failed) != 1 || r.Failed[0] != tc.want {
			t.Errorf("%s: %q, want %q", tc.hangs, r.Failed, tc.want)
		}
		if out, _ := os.ReadFile(log); !strings.Contains(string(out), tc.log) {
			t.Errorf("%s: no %q in the output:\n%s", tc.hangs, tc.log, out)
		}
	}
}

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
		{"fewer ran", of(1, 3), of(1, 2), "3 tests passed over the default cache, 2"},
		{"none ran", of(1, 0), of(1, 0), "no test ran"},
		{"no cache", of(1, 3), of(0, 3), "no test made a cache"},
		{"the default cache did not run", nil, of(1, 2, "A"), "packed cache: A"},
	} {
		bad := judge("x", tc.was, tc.is)
		var text []string
		for _, err := range bad {
			text = append(text, err.Error())
		}
		got := strings.Join(text, ",")
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if got, want := row(operators[1], "p", of(1, 3), of(2, 3)), "| karpenter v1.14.1 | `p` | 3 | 3 | 3 | 2 | 100 MB | 100 MB |"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
