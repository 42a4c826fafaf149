package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// apiFile is the recorded API, from the root of the module.
const apiFile = "docs/api.txt"

// TestAPIIsRecorded compares the exported API of the core module with docs/api.txt, so that every
// change of it shows in a diff.
func TestAPIIsRecorded(t *testing.T) {
	lines := exportedAPI(t)
	got := strings.Join(lines, "\n") + "\n"
	file := filepath.Join("..", "..", filepath.FromSlash(apiFile))
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	removed, added := changes(strings.Split(strings.TrimSuffix(string(want), "\n"), "\n"), lines)
	if len(removed)+len(added) == 0 {
		return
	}
	var b strings.Builder
	for _, l := range removed {
		fmt.Fprintf(&b, "- %s\n", l)
	}
	for _, l := range added {
		fmt.Fprintf(&b, "+ %s\n", l)
	}
	t.Errorf("the exported API differs from %s:\n%sIf that is meant, record it by\n\tUPDATE_GOLDEN=1 go test -run TestAPIIsRecorded ./internal/lint\nand add a line to CHANGELOG.md, under Unreleased.", apiFile, &b)
}

// changes returns the lines of before that after lacks, and those of after that before lacks.
func changes(before, after []string) (removed, added []string) {
	lacks := func(all []string) func(string) bool {
		has := map[string]bool{}
		for _, l := range all {
			has[l] = true
		}
		return func(l string) bool { return has[l] }
	}
	return slices.DeleteFunc(slices.Clone(before), lacks(after)), slices.DeleteFunc(slices.Clone(after), lacks(before))
}

// exportedAPI returns one line for each exported name of the public packages, sorted. It reads the files of all
// platforms.
func exportedAPI(t *testing.T) (lines []string) {
	folders := map[string][]string{}
	for _, f := range files(t) {
		if !f.test && isPublic(f.pkg) {
			folders[f.pkg] = append(folders[f.pkg], f.path)
		}
	}
	for folder, paths := range folders {
		p := &apiOf{name: cmp.Or(folder, "flyball"), types: map[string]*ast.TypeSpec{}, methods: map[string][]*ast.FuncDecl{}}
		for _, path := range paths {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", filepath.FromSlash(path)), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if f.Name.Name == "main" {
				break
			}
			nameInternal(f)
			p.files = append(p.files, f)
		}
		p.read()
		lines = append(lines, p.lines...)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// nameInternal writes the packages of this module that programs outside of it cannot import by their path.
func nameInternal(f *ast.File) {
	internal := map[string]string{}
	for _, i := range f.Imports {
		folder, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"/")
		if !ours || isPublic(folder) {
			continue
		}
		name := path.Base(folder)
		if i.Name != nil {
			name = i.Name.Name
		}
		internal[name] = folder
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && internal[x.Name] != "" {
				x.Name = internal[x.Name]
			}
		}
		return true
	})
}

// internalTypes is the exported API that names a type which programs outside of this module cannot, and why it may.
var internalTypes = map[string]string{
	"client: method (*Feed) List(":             "the Source of a reflector",
	"client: method (*Feed) Watch(":            "the Source of a reflector",
	"reflector: type Source interface, List(":  "lists are read frame by frame, in the bytes of the server",
	"reflector: type Source interface, Watch(": "watches are read frame by frame, in the bytes of the server",
	"store: func NewEntry(":                    "entries are made of bytes",
	"store: method (*Entry) Raw(":              "the bytes, for informers and adapters; users read by Decode",
	"store: method (*Entry) Read(":             "the bytes without a copy, for informers and adapters",
	"webhook: type Budget = ":                  "one endpoint reads the bodies of admission and conversion, below both; users have this name",
	"webhook: type Call = ":                    "as Budget",
	"webhook: type Hooks = ":                   "as Budget",
	"webhook: type Limits = ":                  "as Budget",
}

// TestSignaturesNamePublicTypes reads the types of functions, methods, fields, constants and variables that are
// exported. Each entry of internalTypes must be needed.
func TestSignaturesNamePublicTypes(t *testing.T) {
	lines := exportedAPI(t)
	needed := map[string]bool{}
	for _, l := range lines {
		if !strings.Contains(l, "internal/") {
			continue
		}
		found := false
		for may := range internalTypes {
			if strings.HasPrefix(l, may) {
				found, needed[may] = true, true
			}
		}
		if !found {
			t.Errorf("%s\nnames an internal type: give it a public one, or keep it out of the exported API", l)
		}
	}
	for may := range internalTypes {
		if !needed[may] {
			t.Errorf("%q names no internal type: take it out of internalTypes", may)
		}
	}
}

func TestNamesOfInternalPackages(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
import ("`+module+`/internal/wire"; r "`+module+`/webhook/internal/review"; "`+module+`/object"; delta "elsewhere/internal/delta")
type T struct { A map[object.Key]func(*wire.Raw, delta.Stats) []call }
type call = r.Call`, 0)
	if err != nil {
		t.Fatal(err)
	}
	nameInternal(f)
	p := &apiOf{name: "x", files: []*ast.File{f}, types: map[string]*ast.TypeSpec{}, methods: map[string][]*ast.FuncDecl{}}
	p.read()
	if got, want := p.lines[len(p.lines)-1], "x: type T struct, A map[object.Key]func(*internal/wire.Raw, delta.Stats) []webhook/internal/review.Call"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// isPublic reports whether programs outside of this repository can import a package.
func isPublic(pkg string) bool {
	return !slices.Contains(strings.Split(pkg, "/"), "internal") && !strings.HasPrefix(pkg, "examples/")
}

func TestPackagesThatArePublic(t *testing.T) {
	for pkg, want := range map[string]bool{"": true, "client": true, "webhook/convert": true, "internal/heap": false, "webhook/internal/review": false, "examples/podscaler": false} {
		if got := isPublic(pkg); got != want {
			t.Errorf("%q: %v, want %v", pkg, got, want)
		}
	}
}

// apiOf is the exported API of one package.
type apiOf struct {
	name    string
	files   []*ast.File
	types   map[string]*ast.TypeSpec
	methods map[string][]*ast.FuncDecl // by the name of the type of the receiver
	lines   []string
}

func (p *apiOf) add(format string, args ...any) {
	p.lines = append(p.lines, path.Clean(p.name)+": "+fmt.Sprintf(format, args...))
}

func (p *apiOf) read() {
	p.expandAliases()
	for _, f := range p.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					on := receiver(d.Recv.List[0].Type)
					p.methods[on] = append(p.methods[on], d)
				} else if d.Name.IsExported() {
					p.add("func %s%s", d.Name, signature(d.Type))
				}
			case *ast.GenDecl:
				p.declared(d)
			}
		}
	}
	for name, spec := range p.types {
		if ast.IsExported(name) {
			p.typed(name, spec)
		}
	}
}

// expandAliases writes what an alias without an exported name stands for in its place.
func (p *apiOf) expandAliases() {
	alias := map[string]string{}
	for _, rename := range []bool{false, true} {
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BlockStmt:
					return false
				case *ast.TypeSpec:
					if name := n.Name.Name; !rename && n.Assign.IsValid() && !ast.IsExported(name) {
						alias[name] = goText(n.Type)
					}
				case *ast.Ident:
					if rename {
						n.Name = cmp.Or(alias[n.Name], n.Name)
					}
				}
				return true
			})
		}
	}
}

// declared reads constants and variables, and keeps types for later. A constant without a value has
// the type of the one before it.
func (p *apiOf) declared(d *ast.GenDecl) {
	var last ast.Expr
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			p.types[s.Name.Name] = s
		case *ast.ValueSpec:
			if s.Type != nil || len(s.Values) > 0 {
				last = s.Type
			}
			for i, name := range s.Names {
				if !name.IsExported() {
					continue
				}
				line := d.Tok.String() + " " + name.Name
				if last != nil {
					line += " " + goText(last)
				}
				if d.Tok == token.CONST && i < len(s.Values) {
					line += " = " + goText(s.Values[i])
				}
				p.add("%s", line)
			}
		}
	}
}

// typed lists a type, its fields and its methods.
func (p *apiOf) typed(name string, spec *ast.TypeSpec) {
	head := "type " + name + typeParams(spec.TypeParams)
	if spec.Assign.IsValid() {
		p.add("%s = %s", head, goText(spec.Type))
		return
	}
	switch t := spec.Type.(type) {
	case *ast.StructType:
		p.add("%s struct", head)
		p.fields(name, t, map[string]bool{name: true})
	case *ast.InterfaceType:
		p.add("%s interface", head)
		for _, m := range t.Methods.List {
			switch f := m.Type.(type) {
			case *ast.FuncType:
				for _, n := range m.Names {
					if n.IsExported() {
						p.add("type %s interface, %s%s", name, n, signature(f))
					} else {
						p.add("type %s interface, with unexported methods", name)
					}
				}
			default:
				p.add("type %s interface, embeds %s", name, goText(f))
			}
		}
	default:
		p.add("%s %s", head, goText(t))
	}
	p.methodsOf(name, name)
}

// fields lists the exported fields of a struct. What an embedded type without an exported name
// promotes is listed as the struct's own.
func (p *apiOf) fields(name string, t *ast.StructType, seen map[string]bool) {
	for _, f := range t.Fields.List {
		for _, n := range f.Names {
			if n.IsExported() {
				p.add("type %s struct, %s %s", name, n, goText(f.Type))
			}
		}
		if len(f.Names) > 0 {
			continue
		}
		embedded := receiver(f.Type)
		if ast.IsExported(embedded) {
			p.add("type %s struct, embeds %s", name, goText(f.Type))
		} else if inner, ok := p.types[embedded]; ok && !seen[embedded] {
			seen[embedded] = true
			p.methodsOf(name, embedded)
			if s, ok := inner.Type.(*ast.StructType); ok {
				p.fields(name, s, seen)
			}
		}
	}
}

// methodsOf lists the exported methods of a type as those of the type called name.
func (p *apiOf) methodsOf(name, of string) {
	for _, m := range p.methods[of] {
		if m.Name.IsExported() {
			star := ""
			if _, ok := m.Recv.List[0].Type.(*ast.StarExpr); ok {
				star = "*"
			}
			p.add("method (%s%s) %s%s", star, name, m.Name, signature(m.Type))
		}
	}
}

// receiver is the name of the type of a receiver or an embedded field.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// signature is a function type without the names of its parameters, which are no part of the API.
func signature(f *ast.FuncType) string {
	return typeParams(f.TypeParams) + strings.TrimPrefix(goText(&ast.FuncType{Params: f.Params, Results: f.Results}), "func")
}

func typeParams(l *ast.FieldList) string {
	if l == nil {
		return ""
	}
	var all []string
	for _, f := range l.List {
		for _, n := range f.Names {
			all = append(all, n.Name+" "+goText(f.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// goText is an expression in one line, without comments and without the names of parameters.
func goText(e ast.Expr) string {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			n.Params, n.Results = unnamed(n.Params), unnamed(n.Results)
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), e); err != nil {
		panic(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func unnamed(l *ast.FieldList) *ast.FieldList {
	if l == nil {
		return nil
	}
	out := &ast.FieldList{}
	for _, f := range l.List {
		for range max(1, len(f.Names)) {
			out.List = append(out.List, &ast.Field{Type: f.Type})
		}
	}
	return out
}
