package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

// TestLogKeysHaveOneType checks that each key of the log has one JSON type in all packages that a program can
// import, those of the adapter too. Log stores refuse a line whose key has another type than before.
func TestLogKeysHaveOneType(t *testing.T) {
	tier.Audit(t, "runs the go command")
	keys := logKeys(t)
	if len(keys) < 50 {
		t.Fatalf("found %d keys: the search is broken", len(keys))
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		shapes := keys[key]
		if len(shapes) > 1 || shapes[unknownShape] != nil {
			t.Errorf("key %q is not of one JSON type:", key)
			for _, shape := range slices.Sorted(maps.Keys(shapes)) {
				t.Errorf("\t%s: %s", shape, strings.Join(shapes[shape], ", "))
			}
		}
	}
}

// unknownShape is the shape of a value whose JSON the types do not tell.
const unknownShape = "unknown"

// logKeys returns the keys that packages log, with the JSON types of their values and where they stand.
func logKeys(t *testing.T) map[string]map[string][]string {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,Module",
		"./...", "./adapter/ctrlcache/...", "./adapter/clientgo/...", "./adapter/ctrl/...")
	cmd.Dir, cmd.Stderr = "../..", os.Stderr
	listed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	type pkg struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
		Module                  *struct{ Main bool }
	}
	exports, own := map[string]string{}, []pkg{}
	for d := json.NewDecoder(bytes.NewReader(listed)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		rel, isOwn := strings.CutPrefix(p.ImportPath, module)
		rel = strings.TrimPrefix(rel, "/")
		if isOwn && p.Module != nil && p.Module.Main && !forTests(rel) && !strings.HasPrefix(rel, "examples/") {
			own = append(own, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	keys := map[string]map[string][]string{}
	for _, p := range own {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatal(err)
		}
		v := &logValues{info: info, imports: imports}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				for key, value := range v.of(n) {
					if keys[key] == nil {
						keys[key] = map[string][]string{}
					}
					shape := v.shape(info.TypeOf(value))
					keys[key][shape] = append(keys[key][shape], p.ImportPath+":"+fset.Position(value.Pos()).String()[len(p.Dir)+1:])
				}
				return true
			})
		}
	}
	return keys
}

// logValues finds the keys and values of log lines.
type logValues struct {
	info    *types.Info
	imports types.Importer
}

// of returns what a node logs: a call of a function of log/slog, a list of keys and values, or what is appended to
// one.
func (v *logValues) of(n ast.Node) map[string]ast.Expr {
	out := map[string]ast.Expr{}
	pairs := func(args []ast.Expr) {
		for i := 0; i+1 < len(args); i++ {
			if c := v.info.Types[args[i]].Value; c != nil && c.Kind() == constant.String {
				out[constant.StringVal(c)] = args[i+1]
				i++
			}
		}
	}
	switch n := n.(type) {
	case *ast.CompositeLit:
		if isAnys(v.info.TypeOf(n)) && len(n.Elts)%2 == 0 {
			pairs(n.Elts)
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "append" && isAnys(v.info.TypeOf(n)) && !n.Ellipsis.IsValid() {
			pairs(n.Args[1:])
			break
		}
		f, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			break
		}
		callee, ok := v.info.Uses[f.Sel].(*types.Func)
		if !ok || callee.Pkg() == nil || !slices.Contains([]string{"log/slog", module + "/internal/logguard"}, callee.Pkg().Path()) {
			break
		}
		switch sig := callee.Type().(*types.Signature); {
		case sig.Variadic():
			if last := sig.Params().Len() - 1; isAnys(sig.Params().At(last).Type()) && !n.Ellipsis.IsValid() {
				pairs(n.Args[min(last, len(n.Args)):])
			}
		case sig.Recv() == nil && sig.Params().Len() == 2 && sig.Results().Len() == 1 && sig.Results().At(0).Type().String() == "log/slog.Attr":
			pairs(n.Args)
		}
	}
	return out
}

// isAnys reports whether a type is []any.
func isAnys(t types.Type) bool {
	s, ok := t.(*types.Slice)
	if !ok {
		return false
	}
	i, ok := s.Elem().Underlying().(*types.Interface)
	return ok && i.NumMethods() == 0
}

// shape is the JSON type of a value, as slog writes it.
func (v *logValues) shape(t types.Type) string {
	switch {
	case t.String() == "time.Time" || t.String() == "time.Duration":
		return t.String()
	case v.implements(t, "log/slog", "LogValuer"), v.implements(t, "encoding/json", "Marshaler"):
		return unknownShape
	case v.implements(t, "", "error"), v.implements(t, "encoding", "TextMarshaler"):
		return "string"
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsNumeric != 0:
			return "number"
		case u.Info()&types.IsString != 0:
			return "string"
		case u.Info()&types.IsBoolean != 0:
			return "boolean"
		}
	case *types.Slice:
		return "array of " + v.shape(u.Elem())
	case *types.Map, *types.Struct:
		return "object " + t.String()
	case *types.Pointer:
		return v.shape(u.Elem())
	}
	return unknownShape
}

// implements reports whether a type has the methods of an interface.
func (v *logValues) implements(t types.Type, pkg, name string) bool {
	if pkg == "" {
		return types.Implements(t, types.Universe.Lookup(name).Type().Underlying().(*types.Interface))
	}
	p, err := v.imports.Import(pkg)
	if err != nil {
		panic(err)
	}
	return types.Implements(t, p.Scope().Lookup(name).Type().Underlying().(*types.Interface))
}
