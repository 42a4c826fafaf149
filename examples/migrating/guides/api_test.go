package guides

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

// api is what the packages of a module export: the names of each package, by its path below the root
// of the module. A field or method is a name such as "Options.Cache".
type api map[string]map[string]bool

// listed is what "go list" tells of a package.
type listed struct {
	ImportPath, Dir, Name string
	GoFiles               []string
	Module                struct{ Path, Version string }
}

// readAPI reads the API of the packages that the patterns match, from the module cache. It returns the
// version of their module. Packages that no program can import are left out, and so are commands.
func readAPI(t *testing.T, below string, patterns ...string) (api, string) {
	tier.Audit(t, "runs the go command")
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-find", "-json=ImportPath,Dir,Name,GoFiles,Module"}, patterns...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
	}
	out, version := api{}, ""
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(p.ImportPath, "/")
		if slices.Contains(parts, "internal") || slices.Contains(parts, "testdata") || p.Name == "main" {
			continue
		}
		version = strings.TrimPrefix(p.Module.Version, "v")
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path+below), "/")
		if p.ImportPath == p.Module.Path {
			name = "ctrl" // as all programs import it
		}
		if names := exported(t, p); len(names) > 0 {
			out[name] = names
		}
	}
	return out, version
}

// exported are the exported names of a package.
func exported(t *testing.T, p listed) map[string]bool {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	top, members, methods, promised := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !d.Name.IsExported() {
					continue
				}
				if d.Recv == nil {
					top[d.Name.Name] = true
				} else if owner := baseType(d.Recv.List[0].Type); ast.IsExported(owner) {
					methods[owner+"."+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						for _, id := range s.Names {
							top[id.Name] = id.IsExported()
						}
					case *ast.TypeSpec:
						if !s.Name.IsExported() {
							continue
						}
						top[s.Name.Name] = true
						for _, m := range membersOf(s.Type) {
							members[s.Name.Name+"."+m] = true
							if _, ok := s.Type.(*ast.InterfaceType); ok {
								promised[m] = true
							}
						}
					}
				}
			}
		}
	}
	// A method that an interface of the package has is listed there.
	maps.DeleteFunc(methods, func(name string, _ bool) bool {
		_, m, _ := strings.Cut(name, ".")
		return promised[m]
	})
	out := map[string]bool{}
	for _, set := range []map[string]bool{top, members, methods} {
		for name, ok := range set {
			if ok && !bySelf(name) {
				out[untyped(name)] = true
			}
		}
	}
	return out
}

// membersOf are the exported fields of a struct and methods of an interface. What is embedded is listed
// with the type that it comes from.
func membersOf(e ast.Expr) (names []string) {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, id := range f.Names {
			if id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	return names
}

// bySelf reports whether a name goes without saying: a method by which an option applies itself, or of
// every error, handler of HTTP or generated type.
func bySelf(name string) bool {
	_, m, ok := strings.Cut(name, ".")
	return ok && (strings.HasPrefix(m, "ApplyTo") || m == "ApplyOptions" || m == "ApplyOpts" ||
		strings.HasPrefix(m, "As") && strings.HasSuffix(m, "Options") ||
		slices.Contains([]string{"Error", "Unwrap", "Is", "String", "DeepCopy", "DeepCopyInto", "DeepCopyObject", "GetObjectKind", "ServeHTTP"}, m))
}

// untyped is the name without the "Typed" that tells a generic variant from the plain one.
func untyped(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if p != "Typed" {
			parts[i] = strings.Replace(p, "Typed", "", 1)
		}
	}
	return strings.Join(parts, ".")
}

// baseType is the name of the type of a receiver.
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
