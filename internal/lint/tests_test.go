package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testFiles parses the test files of all modules and calls each with their paths, relative to the root.
func testFiles(t *testing.T, each func(path string, f *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	found := 0
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, "_test.go") {
			return nil
		}
		found++
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		each(filepath.ToSlash(rel), f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 300 {
		t.Fatalf("found %d files: the walk is broken", found)
	}
}

// TestRandomTestsHaveASeed checks that packages whose tests use rapid import internal/seed: outside of the audit they
// draw the same cases each time.
func TestRandomTestsHaveASeed(t *testing.T) {
	random, seeded := map[string]bool{}, map[string]bool{}
	testFiles(t, func(path string, f *ast.File) {
		folder := filepath.Dir(path)
		for _, i := range f.Imports {
			switch strings.Trim(i.Path.Value, `"`) {
			case "pgregory.net/rapid":
				random[folder] = true
			case module + "/internal/seed":
				seeded[folder] = true
			}
		}
	})
	for folder := range random {
		if !seeded[folder] {
			t.Errorf("%s uses rapid without a seed: import _ %q in one of its test files", folder, module+"/internal/seed")
		}
	}
}

// measures are functions that measure the process. What they return depends on what else runs.
var measures = []string{"runtime.NumGoroutine", "runtime.ReadMemStats", "heaptest.Live", "syscall.Getrusage"}

// TestMeasurementsAreForTheAudit checks that a test which measures the process says that it is for the audit.
func TestMeasurementsAreForTheAudit(t *testing.T) {
	testFiles(t, func(path string, f *ast.File) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || !strings.HasPrefix(fn.Name.Name, "Test") {
				continue
			}
			measured, audit := "", false
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok {
						name := x.Name + "." + s.Sel.Name
						audit = audit || name == "tier.Audit" || name == "tier.InAudit"
						if slices.Contains(measures, name) {
							measured = name
						}
					}
				}
				return true
			})
			if measured != "" && !audit {
				t.Errorf("%s: %s calls %s, whose result depends on what else runs: tier.Audit makes it a test of the audit", path, fn.Name.Name, measured)
			}
		}
	})
}
