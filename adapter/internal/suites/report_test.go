package suites

import (
	"os"
	"path/filepath"
	"testing"
)

// The marker is what a test binary writes with -test.v=test2json.
func TestGoTestsAreCounted(t *testing.T) {
	r := GoTest([]byte("\x16=== RUN   TestA\na log without an end\x16--- PASS: TestA (0.01s)\n" +
		"\x16=== RUN   TestB\n    \x16=== RUN   TestB/one\n        x_test.go:3: no\n" +
		"\x16--- FAIL: TestB (1.20s)\n    \x16--- FAIL: TestB/one (1.10s)\n    \x16--- PASS: TestB/two (0.00s)\n" +
		"\x16--- SKIP: TestC (0.00s)\nit says --- PASS: TestD (0.00s)\nFAIL\n"))
	if r.Specs != 5 || r.Passed != 2 || r.Pending != 1 || len(r.Failed) != 2 || r.Failed[1] != "TestB/one" {
		t.Errorf("%+v", r)
	}
}

func TestEditWantsTheTextOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(file, []byte("one two one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"one", "three"} {
		if err := Edit(file, old, "x"); err == nil {
			t.Errorf("%q was replaced", old)
		}
	}
	if err := Edit(file, "two", "2"); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(file); string(b) != "one 2 one" {
		t.Errorf("%q", b)
	}
}

// A test that hangs has a name.
func TestTestsThatHangHaveFailed(t *testing.T) {
	r := GoTest([]byte("\x16=== RUN   TestA\n\x16--- PASS: TestA (0.01s)\n\x16=== RUN   TestB\n\x16=== RUN   TestB/one\n" +
		"panic: test timed out after 1m0s\n\trunning tests:\n\t\tTestB (59.9s)\n\t\tTestB/one (1m0s)\n\ngoroutine 7 [running]:\n"))
	if r.Specs != 3 || r.Passed != 1 || len(r.Failed) != 2 || r.Failed[1] != "TestB/one\ntest timed out after 1m0s" {
		t.Errorf("%+v", r)
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
