package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/sim/internal/plan"
	"github.com/flyball-io/flyball/sim/internal/search"
)

// keptFile returns the file with the plans that went wrong in a test.
func keptFile(t *testing.T) string {
	return filepath.Join("testdata", "sim", strings.ReplaceAll(t.Name(), "/", "_")+".txt")
}

// kept runs the plans that went wrong earlier. It reports whether all pass now.
func (c *checker) kept(t *testing.T) bool {
	return c.recorder.kept(func(line string) (*checker, search.Result, bool, error) {
		p, err := plan.Parse(line)
		if err != nil {
			return nil, search.Result{}, false, err
		}
		r := c.run(t, p)
		return c, r, r.Met(), nil
	})
}

// kept runs each line of the file of the test. Run returns what came of it, and whether all of it can still happen.
func (r *recorder) kept(run func(line string) (*checker, search.Result, bool, error)) bool {
	t := r.t
	file := keptFile(t)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		r.fatal("%v", err)
	}
	good := true
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		c, got, met, err := run(line)
		if err != nil {
			r.fatal("%s:%d: %v", file, i+1, err)
		}
		r.report.Kept++
		switch {
		case !met:
			r.error("%s:%d: no longer reachable: %s meets nothing in the program of today; delete the line", file, i+1, line)
		case len(got.Failures) > 0:
			c.tell(t, got)
		default:
			continue
		}
		good = false
	}
	return good
}

// keep adds what went wrong to the file of the test, unless a flag forbids it. What names it in an error.
func (r *recorder) keep(what string, lines []string) {
	if len(lines) == 0 || !*keepFlag {
		return
	}
	if err := keep(r.t, lines); err != nil {
		r.error("the %s cannot be kept: %v", what, err)
	}
}

// keep adds plans that went wrong to the file of the test.
func keep(t *testing.T, plans []string) error {
	file := keptFile(t)
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(text) == 0 {
		text = []byte("# Plans that went wrong, which are tried first. A line may be deleted.\n")
	}
	lines := strings.Split(string(text), "\n")
	for _, line := range plans {
		if !slices.Contains(lines, line) {
			text = fmt.Appendln(text, line)
			lines = append(lines, line)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
