package suites

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/tier"
)

// The test binary itself stands for tests that hang.
const hangEnv = "FLYBALL_TEST_HANG"

func TestMain(m *testing.M) {
	switch os.Getenv(hangEnv) {
	case "a test", "no test":
		if err := flag.Set("test.run", "^TestThatHangs$"); err != nil {
			panic(err)
		}
		began()
	case "before the tests":
		began()
		time.Sleep(time.Hour) // not select {}, which Go finds
	}
	os.Exit(m.Run())
}

// began tells the parent, by the number of calls, that the process has come to its tests.
func began() {
	if err := os.WriteFile(os.Getenv("FLYBALL_CALLS"), []byte("3\n"), 0o600); err != nil {
		panic(err)
	}
}

func TestThatHangs(t *testing.T) {
	if os.Getenv(hangEnv) != "a test" {
		t.Skip("it is run by TestWhatHangsHasFailed")
	}
	time.Sleep(time.Hour)
}

func TestWhatHangsHasFailed(t *testing.T) {
	tier.Audit(t, "starts programs and waits for them by the real clock")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ hangs, want, log string }{
		{"no test", "", "SKIP: TestThatHangs"},
		{"a test", "TestThatHangs\nit has not ended\npanic: test timed out after BOUND", "panic: test timed out"},
		{"before the tests", "the test process\nit did not end in BOUND", "suites.TestMain("}, // the goroutines
	} {
		run := Run{Dir: t.TempDir(), Binary: self, Name: "x", Env: []string{hangEnv + "=" + tc.hangs}, Bound: 300 * time.Millisecond}
		var r *Result
		for {
			whole := run.Bound
			if tc.hangs == "before the tests" {
				run.Grace = run.Bound / 3
				whole += run.Grace
			}
			if r, err = run.Do(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r.Calls == 3 && (tc.want != "" || len(r.Failed) == 0) || run.Bound > time.Minute {
				tc.want = strings.ReplaceAll(tc.want, "BOUND", whole.String())
				break
			}
			run.Bound *= 2 // a busy machine did not start the process in time
		}
		if got := strings.Join(r.Failed, "; "); (got == "") != (tc.want == "") || !strings.HasPrefix(got, tc.want) || r.Calls != 3 {
			t.Errorf("%s: %q, want %q; %d calls", tc.hangs, got, tc.want, r.Calls)
		}
		if out, _ := os.ReadFile(filepath.Join(run.Dir, "x.log")); !strings.Contains(string(out), tc.log) {
			t.Errorf("%s: no %q in the output:\n%s", tc.hangs, tc.log, out)
		}
	}
}

func TestLastSaysWhyAProcessEnded(t *testing.T) {
	for out, want := range map[string]string{
		"":                            "",
		"a\nb\n":                      "a\nb",
		"0\n1\n2\n3\n4\n5\n6\n7\n8\n": "1\n2\n3\n4\n5\n6\n7\n8",
		"a\npanic: no\n\ngoroutine 1\n1\n2\n3\n4\n5\n6\n7\n": "panic: no\n\ngoroutine 1\n1\n2\n3\n4\n5",
	} {
		if got := Last([]byte(out)); got != want {
			t.Errorf("%q: %q, want %q", out, got, want)
		}
	}
}
