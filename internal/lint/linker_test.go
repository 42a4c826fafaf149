package lint

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinkerDropsMethods keeps programs small. The linker leaves out the methods that nobody calls,
// most of all of the API types, unless one function that is not dropped itself finds methods by a
// name which is only known at run time. Package text/template does; with it a program is a quarter
// larger and takes 6 MB more.
func TestLinkerDropsMethods(t *testing.T) {
	link := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(t.TempDir(), "program"), "-ldflags=-dumpdep", "./examples/podscaler")
	link.Dir = filepath.Join("..", "..")
	out, err := link.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := link.Start(); err != nil {
		t.Fatal(err)
	}
	edges, last, by := 0, "", ""
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		last = lines.Text()
		from, _, edge := strings.Cut(last, " -> ")
		if edge {
			edges++
		}
		if f, ok := strings.CutSuffix(from, " <ReflectMethod>"); ok && by == "" {
			by = f
		}
	}
	if by != "" {
		t.Errorf("%s, and what it keeps, find methods by name; go build -ldflags=-dumpdep tells who calls it", by)
	}
	if err := link.Wait(); err != nil {
		t.Fatalf("%v: %s", err, last)
	}
	if edges < 10_000 {
		t.Errorf("the linker told of %d edges: the test is blind", edges)
	}
}
