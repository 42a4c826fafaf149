package planetest

import (
	"strings"
	"testing"

	"github.com/flyball-io/flyball/plane"
)

// recorder is a test that can fail without failing us.
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

// Only a test that failed shows the control plane's log, and only from its
// own beginning.
func TestLogOnFailure(t *testing.T) {
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

func TestLabel(t *testing.T) {
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
