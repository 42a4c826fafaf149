package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// simPath is the import path of what a simulation calls.
const simPath = "github.com/flyball-io/flyball/sim"

// Package is a package whose tests have simulations.
type Package struct {
	Path string
	// Tests are the tests that call sim.Check, also by functions of their package. None: they call it by functions of
	// other packages, so that all tests have to run.
	Tests []string
}

// listed is what "go list -test" says of a package, or of its test binary.
type listed struct {
	ImportPath, Dir, ForTest           string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Deps                               []string
}

// Find returns the packages with simulations among those that the patterns name, as for go list. Dir is the folder from
// which the patterns count.
func Find(ctx context.Context, dir string, patterns []string) ([]Package, error) {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"list", "-test", "-json=ImportPath,Dir,ForTest,GoFiles,TestGoFiles,XTestGoFiles,Deps", "--"}, patterns)...)
	var out, bad bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &bad
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, errors.New("the go command, which builds and runs tests, is not in the PATH")
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("go list: %w\n%s", err, bytes.TrimSpace(bad.Bytes()))
	}
	files := map[string]listed{} // by import path
	var simulates []string
	for d := json.NewDecoder(&out); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		path, isTest := strings.CutSuffix(p.ImportPath, ".test")
		switch {
		case isTest && slices.ContainsFunc(p.Deps, func(d string) bool { d, _, _ = strings.Cut(d, " "); return d == simPath }):
			simulates = append(simulates, path)
		case p.ForTest == "":
			files[p.ImportPath] = p
		}
	}
	var all []Package
	for _, path := range simulates {
		p := files[path]
		tests, err := callers(p)
		if err != nil {
			return nil, err
		}
		all = append(all, Package{Path: path, Tests: tests})
	}
	return all, nil
}

// graph says which declarations of a package use which names. Names are enough: a test too many only takes time.
type graph struct {
	uses   map[string][]string
	checks map[string]bool // declarations that call sim.Check or sim.Explore
	tests  []string
}

// callers returns the tests of a package that call sim.Check or sim.Explore.
func callers(p listed) (tests []string, err error) {
	g := graph{uses: map[string][]string{}, checks: map[string]bool{}}
	for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		g.add(f, strings.HasSuffix(name, "_test.go"))
	}
	for _, name := range g.tests {
		if g.reaches(name, map[string]bool{}) {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return tests, nil
}

// checks reports whether a function of sim is one that checks a program.
func checks(name string) bool { return name == "Check" || name == "Explore" }

// add adds the declarations of a file.
func (g *graph) add(f *ast.File, test bool) {
	sim := simIn(f)
	note := func(name string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == sim && checks(n.Sel.Name) {
					g.checks[name] = true
				}
			case *ast.Ident:
				g.uses[name] = append(g.uses[name], n.Name)
				g.checks[name] = g.checks[name] || sim == "." && checks(n.Name)
			}
			return true
		})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body == nil {
				continue
			}
			note(d.Name.Name, d.Body)
			if d.Recv != nil { // who has the type may call its methods
				ast.Inspect(d.Recv, func(n ast.Node) bool {
					if x, ok := n.(*ast.Ident); ok {
						g.uses[x.Name] = append(g.uses[x.Name], d.Name.Name)
					}
					return true
				})
			} else if test && isTest(d.Name.Name) {
				g.tests = append(g.tests, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					for _, name := range v.Names {
						for _, value := range v.Values {
							note(name.Name, value)
						}
					}
				}
			}
		}
	}
}

// simIn returns the name of package sim in a file; "" if the file does not import it.
func simIn(f *ast.File) string {
	for _, i := range f.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err != nil || path != simPath {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return "sim"
	}
	return ""
}

// reaches reports whether a declaration calls sim.Check or sim.Explore, itself or by others.
func (g *graph) reaches(name string, seen map[string]bool) bool {
	if g.checks[name] {
		return true
	}
	seen[name] = true
	return slices.ContainsFunc(g.uses[name], func(n string) bool { return !seen[n] && g.reaches(n, seen) })
}

// isTest reports whether go test takes a function of this name for a test.
func isTest(name string) bool {
	rest, ok := strings.CutPrefix(name, "Test")
	r, _ := utf8.DecodeRuneInString(rest)
	return ok && (rest == "" || !unicode.IsLower(r)) && name != "TestMain"
}
