package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// document returns the text of a file of the tree.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documents returns the Markdown files below docs, by their paths in the tree.
func documents(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(filepath.Join("..", "..")), "docs", func(p string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(p, ".md") {
			names = append(names, p)
		}
		return err
	})
	if err != nil || len(names) < 25 {
		t.Fatalf("found %d documents: %v", len(names), err)
	}
	return names
}

// headings returns the headings of the third level in a Markdown text, by the heading of the second
// level that they stand under.
func headings(text string) map[string][]string {
	out, section := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if h, ok := strings.CutPrefix(line, "## "); ok {
			section = h
		}
		if h, ok := strings.CutPrefix(line, "### "); ok {
			out[section] = append(out[section], h)
		}
	}
	return out
}

// compare fails for each name that only one of two lists has, and for each name that the documented
// list has twice.
func compare(t *testing.T, document string, documented []string, known map[string]bool) {
	t.Helper()
	for i, name := range documented {
		if !known[name] {
			t.Errorf("%s: %s does not exist", document, name)
		}
		if slices.Contains(documented[:i], name) {
			t.Errorf("%s: %s has two entries", document, name)
		}
	}
	for name := range known {
		if !slices.Contains(documented, name) {
			t.Errorf("%s: %s has no entry", document, name)
		}
	}
}

// source is a parsed Go file that programs can have in them: no test, example or test kit.
type source struct {
	pkg  string // the folder
	file *ast.File
}

func (s source) public() bool { return !slices.Contains(strings.Split(s.pkg, "/"), "internal") }

// sources are the parsed files of the core module, test kits included.
func sources(t *testing.T) []source {
	t.Helper()
	all := files(t)
	out, err := parseSources(all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var (
	parsing sync.Once
	parsed  []source
	broken  error
)

func parseSources(all []file) ([]source, error) {
	parsing.Do(func() {
		for _, f := range all {
			if f.test || strings.HasPrefix(f.pkg, "examples/") {
				continue
			}
			path := filepath.Join("..", "..", filepath.FromSlash(f.path))
			a, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				broken = err
				return
			}
			parsed = append(parsed, source{f.pkg, a})
		}
	})
	return parsed, broken
}

// literal returns the value of a string literal; false for every other expression.
func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil
}

// baseType returns the name of a type of the same package behind a pointer or type arguments; empty
// for every other type.
func baseType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return baseType(e.X)
	case *ast.IndexExpr:
		return baseType(e.X)
	case *ast.IndexListExpr:
		return baseType(e.X)
	}
	return ""
}
