package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// way is what runs for one event or one write, and the most packages, files and functions of it.
type way struct {
	of                         string
	packages, files, functions int
}

// ways are counted by testdata/oneevent: from one MODIFIED frame to the end of the Reconcile of a For controller,
// and in a Reconcile from the call of a write until its answer is decoded. The writes are of a custom resource.
var ways = []way{
	{"event", 21, 86, 357},
	{"create", 12, 48, 159},
	{"update", 12, 48, 159},
	{"patch", 13, 50, 163},
	{"apply", 14, 50, 166},
	{"delete", 12, 39, 113},
}

// limits are those of a way, by the names in limits.txt.
func (w way) limits() []limit {
	return []limit{{"packages of one " + w.of, w.packages}, {"files of one " + w.of, w.files}, {"functions of one " + w.of, w.functions}}
}

// TestOneEventStaysShort counts the packages, files and functions of Flyball that run for one event, and for one
// write of each kind: those that the coverage of testdata/oneevent has for it, and not for a second in which nothing
// happens.
func TestOneEventStaysShort(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program with coverage")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "oneevent")
	command(t, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"/...", "-o", program, "./testdata/oneevent")
	t.Setenv("GOCOVERDIR", dir)
	command(t, program, dir)
	idle := covered(t, filepath.Join(dir, "nothing"))
	for _, most := range ways {
		got := most.counted(covered(t, filepath.Join(dir, most.of)), idle)
		t.Logf("%s: %d packages, %d files, %d functions", got.of, got.packages, got.files, got.functions)
		bounds := most.limits()
		for i, c := range got.limits() {
			if bound := bounds[i].value; c.value > bound {
				t.Errorf("%s: %d run, at most %d: shorten its way", c.name, c.value, bound)
			} else if c.value < bound*2/3 {
				t.Errorf("%s: %d run: lower the limit of %d", c.name, c.value, bound)
			}
		}
	}
}

// counted counts what ran, without what also runs while nothing happens.
func (w way) counted(ran, idle map[string]bool) way {
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
	return way{w.of, len(packages), len(files), functions}
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
