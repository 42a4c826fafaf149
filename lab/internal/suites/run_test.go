package suites

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The test binary itself stands for tests that hang.
const hangEnv = "FLYBALL_TEST_HANG"

func TestMain(m *testing.M) {
	switch os.Getenv(hangEnv) {
	case "a test", "no test":
		if err := flag.Set("test.run", "^TestThatHangs$"); err != nil {
			panic(err)
		}
		if err := os.WriteFile(os.Getenv("FLYBALL_CALLS"), []byte("3\n"), 0o600); err != nil {
			panic(err)
		}
	case "before the tests":
		time.Sleep(time.Hour) // not select {}, which Go finds
	}
	os.Exit(m.Run())
}

func TestThatHangs(t *testing.T) {
	if os.Getenv(hangEnv) != "a test" {
		t.Skip("it is run by TestWhatHangsHasFailed")
	}
	time.Sleep(time.Hour)
}

func TestWhatHangsHasFailed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		hangs, want, log string
		calls            int
	}{
		{"no test", "", "SKIP: TestThatHangs", 3},
		{"a test", "TestThatHangs\nit has not ended\npanic: test timed out after 300ms", "panic: test timed out", 3},
		{"before the tests", "the test process\nit did not end in 400ms", "suites.TestMain(", 0}, // the goroutines
	} {
		run := Run{Dir: t.TempDir(), Binary: self, Name: "x", Env: []string{hangEnv + "=" + tc.hangs}, Bound: 300 * time.Millisecond}
		if tc.hangs == "no test" {
			run.Bound = time.Minute
		}
		if tc.hangs == "before the tests" {
			run.Grace = 100 * time.Millisecond
		}
		r, err := run.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.Failed, "; "); (got == "") != (tc.want == "") || !strings.HasPrefix(got, tc.want) || r.Calls != tc.calls {
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
