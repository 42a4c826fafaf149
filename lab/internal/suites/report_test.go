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
		"\x16--- FAIL: TestB (1.20s)\n    \x16--- FAIL: TestB/one (1.10s)\n\x16=== RUN   TestB/two\n    \x16--- PASS: TestB/two (0.00s)\n" +
		"\x16=== RUN   TestC\n\x16--- SKIP: TestC (0.00s)\nit says --- PASS: TestD (0.00s)\nFAIL\n"))
	if r.Specs != 5 || r.Passed != 2 || r.Pending != 1 || len(r.Failed) != 2 || r.Failed[1] != "TestB/one\n        x_test.go:3: no" {
		t.Errorf("%+v", r)
	}
}

// A test that hangs is named, with the end of the program.
func TestOneThatDoesNotEndHasFailed(t *testing.T) {
	r := GoTest([]byte("\x16=== RUN   TestA\n\x16--- PASS: TestA (0.01s)\n\x16=== RUN   TestB\npanic: test timed out after 5m0s\n"))
	if r.Specs != 2 || r.Passed != 1 || len(r.Failed) != 1 || r.Failed[0] != "TestB\nit has not ended\npanic: test timed out after 5m0s" {
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
