package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFaultsAreDocumented compares docs/faults.md with the fault tests: each TestFaultNN is in a row of
// its number, and the rows are numbered from 1 on. TestGuidesNameTestsThatExist does the reverse.
func TestFaultsAreDocumented(t *testing.T) {
	named := map[string]string{} // by test: the rows
	last := 0
	for line := range strings.Lines(document(t, "docs/faults.md")) {
		row := ""
		if m := faultRow.FindStringSubmatch(line); m != nil {
			row = m[1]
			n, err := strconv.Atoi(row)
			if err != nil || n != last+1 {
				t.Errorf("row %s follows row %d", row, last)
			}
			last = n
		}
		for _, test := range testName.FindAllString(line, -1) {
			named[test] += " " + row
		}
	}
	if last < 50 {
		t.Errorf("docs/faults.md has %d rows: the search is broken", last)
	}
	for test := range testNames(t) {
		m := faultTest.FindStringSubmatch(test)
		if m == nil {
			continue
		}
		for n := range strings.SplitSeq(m[1], "And") {
			if !strings.Contains(named[test]+" ", " "+strings.TrimPrefix(n, "0")+" ") {
				t.Errorf("row %s of docs/faults.md does not name %s", n, test)
			}
		}
	}
}

// TestGuidesNameTestsThatExist looks up each test and benchmark that a document names, in all modules.
func TestGuidesNameTestsThatExist(t *testing.T) {
	exists := testNames(t)
	for _, d := range append(documents(t), "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md") {
		for _, test := range testName.FindAllString(document(t, d), -1) {
			if !exists[test] {
				t.Errorf("%s names %s, which does not exist", d, test)
			}
		}
	}
}

var (
	faultRow = regexp.MustCompile(`^\| (\d+) \|`)
	// faultTest matches TestFault07LargeObjects, and TestFault22And31WebhookPanicsAndIsLate.
	faultTest = regexp.MustCompile(`^TestFault(\d\d(?:And\d\d)*)`)
	testName  = regexp.MustCompile(`\b(?:Test|Benchmark)[A-Z]\w*`)
)

// testNames returns the tests and benchmarks of all modules of the tree.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(p, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && testName.MatchString(f.Name.Name) {
				out[f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
