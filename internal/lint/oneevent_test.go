package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What runs for one MODIFIED frame, until the Reconcile of a For controller has ended.
const (
	maxEventPackages  = 19
	maxEventFiles     = 85
	maxEventFunctions = 358
)

// TestOneEventStaysShort counts the packages, files and functions of Flyball that run for one event:
// those that the coverage of testdata/oneevent has between the frame and the end of the reconcile, and
// not in a second in which nothing happens.
func TestOneEventStaysShort(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program with coverage")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "oneevent")
	command(t, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"/...", "-o", program, "./testdata/oneevent")
	t.Setenv("GOCOVERDIR", dir)
	command(t, program, dir)
	idle, ran := covered(t, filepath.Join(dir, "nothing")), covered(t, filepath.Join(dir, "event"))
	packages, files := map[string]bool{}, map[string]bool{}
	functions := 0
	for f := range ran {
		file, _, _ := strings.Cut(f, ".go:")
		if idle[f] || strings.Contains(file, "/testdata/") {
			continue
		}
		functions++
		files[file] = true
		packages[filepath.Dir(file)] = true
	}
	t.Logf("%d packages, %d files, %d functions", len(packages), len(files), functions)
	for _, c := range []struct {
		what     string
		got, max int
	}{{"packages", len(packages), maxEventPackages}, {"files", len(files), maxEventFiles}, {"functions", functions, maxEventFunctions}} {
		if c.got > c.max {
			t.Errorf("one event runs through %d %s, at most %d: shorten its way", c.got, c.what, c.max)
		}
		if c.got < c.max*2/3 {
			t.Errorf("one event runs through %d %s: lower the limit of %d", c.got, c.what, c.max)
		}
	}
}

var ranFunction = regexp.MustCompile(`^(\S+\.go:\d+:)\s+(\S+)\s+([\d.]+)%$`)

// covered returns the functions that ran, as "file.go:line: name".
func covered(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for line := range strings.Lines(command(t, "go", "tool", "covdata", "func", "-i="+dir)) {
		m := ranFunction.FindStringSubmatch(strings.TrimSpace(line))
		if m != nil && m[3] != "0.0" {
			out[m[1]+" "+m[2]] = true
		}
	}
	return out
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = os.Environ()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
