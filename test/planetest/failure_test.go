package planetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/plane"
)

// recorder is a testing.TB whose failures do not fail the real test.
type recorder struct {
	testing.TB
	failed   bool
	cleanups []func()
	log      []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Failed() bool     { return r.failed }
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(format string, args ...any) {
	for _, arg := range args {
		if s, ok := arg.(string); ok {
			r.log = append(r.log, s)
		}
	}
}

// Only a failed test shows the control plane's log, from the beginning of the test on.
func TestOnlyFailedTestsShowTheLog(t *testing.T) {
	p := Shared(t)
	for _, failed := range []bool{false, true} {
		write(t, p, "line one of this test\n")
		r := &recorder{failed: failed}
		logOnFailure(r, p, p.Log().Lines())
		write(t, p, "line two of this test\n")
		for _, f := range r.cleanups {
			f()
		}
		got := strings.Join(r.log, "\n")
		if strings.Contains(got, "line two of this test") != failed || strings.Contains(got, "line one of this test") {
			t.Errorf("failed %v: log %q", failed, got)
		}
	}
}

func write(t *testing.T, p *plane.Plane, s string) {
	if _, err := p.Log().Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
}

func TestLabelIsAValidNamePrefix(t *testing.T) {
	for test, want := range map[string]string{
		"TestX":                        "testx",
		"TestX/y_z":                    "testx-y-z",
		"ü":                            "test",
		"":                             "test",
		"TestÄ":                        "test",
		strings.Repeat("ab", 30):       strings.Repeat("ab", 20),
		strings.Repeat("a", 39) + "-b": strings.Repeat("a", 39),
	} {
		if got := label(test); got != want {
			t.Errorf("label(%q) = %q, want %q", test, got, want)
		}
	}
}

// hurried is a test whose deadline is near.
type hurried struct {
	testing.TB
	deadline time.Time
}

func (h hurried) Deadline() (time.Time, bool) { return h.deadline, true }

// The start of a control plane ends before the test's deadline, early enough for advice.
func TestStartEndsBeforeTheDeadline(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := beforeDeadline(t.Context(), hurried{t, deadline})
	defer cancel()
	if left, ok := ctx.Deadline(); !ok || !left.Before(deadline.Add(-19*time.Second)) || ctx.Err() != nil {
		t.Errorf("%v until %v", ctx.Err(), left)
	}
	ctx, cancel = beforeDeadline(t.Context(), hurried{t, time.Now()})
	defer cancel()
	if <-ctx.Done(); context.Cause(ctx) != errDeadline || !strings.Contains(errDeadline.Error(), "--build-only") {
		t.Errorf("%v", context.Cause(ctx))
	}
}

// If the control plane is not ready at the test's deadline, the test fails with advice before "go
// test" ends the process.
func TestLateStartFailsTheTestWithAdvice(t *testing.T) {
	tier.Audit(t, "runs the go command")
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nimport \"time\"\n\nfunc main() { time.Sleep(time.Minute) }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	never := filepath.Join(t.TempDir(), "never")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", never, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	deadline := time.Now().Add(time.Second)
	_, err := start(t.Context(), hurried{t, deadline}, plane.Options{Binary: never})
	if !errors.Is(err, errDeadline) || !strings.Contains(err.Error(), "--build-only") {
		t.Errorf("%v", err)
	}
}
