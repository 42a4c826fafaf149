package lint

import (
	"go/ast"
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
	// nameInFile matches names with the file that declares them: "`next` in `controller/next.go`".
	nameInFile = regexp.MustCompile("`([\\w.]+)`(?: and `([\\w.]+)`)? in `([\\w/]+\\.go)`")
)

// others are first words of code that look like packages of the core module, and are none.
var others = []string{"mgr", "obj", "op", "p", "res", "s", "t", "ctrl", "logr", "os", "record", "rest",
	"apierrors", "errors", "field", "goleak", "metav1", "runtime", "testing", "unstructured"}

// TestGuidesNameWhatExists looks up each exported name that the guides mention, and each name that
// they look for in a file.
func TestGuidesNameWhatExists(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	declared := declarations(t)
	for _, g := range append(documents(t), "README.md") {
		if g == "docs/README.md" || strings.HasPrefix(g, "docs/adr/") {
			continue // the index of Examples has a test of its own; decisions name rejected alternatives
		}
		text := fenced.ReplaceAllString(document(t, g), "")
		for _, code := range inline.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(g, "docs/concepts/") && strings.HasSuffix(code[1], ".go") {
				if _, err := fs.Stat(root, code[1]); err != nil {
					t.Errorf("%s: %v", g, err)
				}
			}
			for _, m := range exportedName.FindAllStringSubmatch(code[1], -1) {
				known := declared[m[1]]
				if known == nil {
					if strings.HasPrefix(g, "docs/migrating/") {
						continue // the other side of its tables; examples/migrating/guides looks at those
					}
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
				if name != "" && !regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type )`+name+`\b`).Match(src) {
					t.Errorf("%s: %s declares no %s", g, m[3], name)
				}
			}
		}
	}
}

// declarations are the names that the packages of the core module declare, fields and methods
// included, by the name of the package.
func declarations(t *testing.T) map[string]map[string]bool {
	t.Helper()
	out := map[string]map[string]bool{}
	for _, s := range sources(t) {
		name := path.Base(path.Join(module, s.pkg))
		known := out[name]
		if known == nil {
			known = map[string]bool{}
			out[name] = known
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
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
