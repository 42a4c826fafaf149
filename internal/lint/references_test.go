package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// inline matches code within a line.
	inline = regexp.MustCompile("`([^`\n]+)`")
	// exportedName matches a name of a package, and what stands behind further dots: a field, a method.
	exportedName = regexp.MustCompile(`(?:^|[^\w/.])([a-z]\w*)\.([A-Z]\w*(?:\.\w+)*)`)
	// nameInFile matches a name with the file that has it: "`next` in `controller/next.go`".
	nameInFile = regexp.MustCompile("`([\\w.]+)`(?:,? (?:and|or) `([\\w.]+)`)? in `([\\w/]+\\.go)`")
)

// others are first words of code that look like packages of the core module, and are none.
var others = []string{"mgr", "op", "p", "res", "field", "metav1", "unstructured", "goleak", "errors", "testing"}

// TestGuidesNameWhatExists looks up each exported name that the guides mention, and each name that
// they look for in a file.
func TestGuidesNameWhatExists(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	declared := declarations(t, root)
	guides, err := fs.Glob(root, "docs/concepts/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range append(guides, "docs/testing.md", "docs/first-controller.md", "README.md") {
		raw, err := fs.ReadFile(root, g)
		if err != nil {
			t.Fatal(err)
		}
		text := fenced.ReplaceAllString(string(raw), "")
		for _, code := range inline.FindAllStringSubmatch(text, -1) {
			for _, m := range exportedName.FindAllStringSubmatch(code[1], -1) {
				known := declared[m[1]]
				if known == nil {
					if !slices.Contains(others, m[1]) && !strings.Contains(code[1], ": ") { // a message
						t.Errorf("%s: `%s`: no package %s", g, code[1], m[1])
					}
					continue
				}
				for name := range strings.SplitSeq(m[2], ".") {
					if !known[name] {
						t.Errorf("%s: `%s`: package %s has no %s", g, code[1], m[1], name)
					}
				}
			}
		}
		for _, m := range nameInFile.FindAllStringSubmatch(text, -1) {
			src, err := fs.ReadFile(root, m[3])
			if err != nil {
				t.Errorf("%s: %v", g, err)
				continue
			}
			for _, name := range m[1:3] {
				name = name[strings.LastIndex(name, ".")+1:]
				if name != "" && !regexp.MustCompile(`\b`+name+`\b`).Match(src) {
					t.Errorf("%s: %s has no %s", g, m[3], name)
				}
			}
		}
	}
}

// declarations are the names that the packages of the core module declare, fields and methods
// included, by the name of the package.
func declarations(t *testing.T, root fs.FS) map[string]map[string]bool {
	t.Helper()
	out := map[string]map[string]bool{}
	for _, f := range files(t) {
		if f.test || strings.HasPrefix(f.pkg, "examples/") {
			continue
		}
		src, err := fs.ReadFile(root, f.path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.path, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Base(path.Join(module, f.pkg))
		known := out[name]
		if known == nil {
			known = map[string]bool{}
			out[name] = known
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				known[n.Name.Name] = true
				return false
			case *ast.TypeSpec:
				known[n.Name.Name] = true
			case *ast.ValueSpec:
				for _, id := range n.Names {
					known[id.Name] = true
				}
			case *ast.Field:
				for _, id := range n.Names {
					known[id.Name] = true
				}
			}
			return true
		})
	}
	return out
}
