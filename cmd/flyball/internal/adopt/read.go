package adopt

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
)

// MakePlan reads a project and says what its parts are in Flyball's API. It writes nothing. progress receives a line for
// what takes long.
func MakePlan(ctx context.Context, dir, main string, progress io.Writer) (*Plan, error) {
	p, err := Load(dir, main)
	if err != nil {
		return nil, err
	}
	r := &reader{project: p, fset: token.NewFileSet(), plan: &Plan{
		Dir: p.Dir, Module: p.Mod.Module.Mod.Path, Layout: fmt.Sprintf("%s; %s %s", p, ctrlPath, scaffold.Required(p.Mod, ctrlPath)),
		Read: "The code was read with its types",
	}}
	if r.root, err = filepath.EvalSymlinks(p.Dir); err == nil {
		r.root, err = filepath.Abs(r.root)
	}
	if err != nil {
		return nil, err
	}
	// The types of what it imports come from the compiler. This says where that is, which Load cannot.
	imported := Options{Progress: progress}
	_ = imported.watched(ctx, "compiling what it imports", p.Dir, nil, func([]byte) {}, nil, "go", "list", "-v", "-e", "-export", "-deps", "./...") // Load fails as this does
	ended := ticking(progress, "reading the code with its types", nil)
	pkgs, err := packages.Load(&packages.Config{
		Context: ctx, Dir: p.Dir, Fset: r.fset, Env: environment(p.Dir),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedModule,
	}, "./...")
	ended()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	problems := 0
	for _, pkg := range pkgs {
		for _, e := range pkg.Errors {
			if problems++; problems <= 5 {
				r.plan.Problems = append(r.plan.Problems, strings.ReplaceAll(e.Error(), r.root+string(filepath.Separator), ""))
			}
		}
	}
	if problems > 0 {
		r.plan.Read = fmt.Sprintf("The code does not build (%s): what has no type is judged by its name", counted(problems, "problem"))
		if problems > 5 {
			r.plan.Problems = append(r.plan.Problems, "and more")
		}
	}
	slices.SortFunc(pkgs, func(a, b *packages.Package) int { return cmp.Compare(a.PkgPath, b.PkgPath) })
	r.readMarkers(pkgs)
	for _, pkg := range pkgs {
		r.readPackage(pkg)
	}
	for _, c := range r.plan.Controllers {
		c.sort()
	}
	r.plan.Notes = append(r.plan.Notes,
		`"flyball adopt --cache" is the other way: the packed cache by one line, and all of this code as it is`,
		"controllers can move one at a time, each in a program of its own or beside the others: a leader and a Lease each",
		`permissions are an estimate from the source; "flyball rbac" derives them from what the tests ask the API server for`)
	return r.plan, nil
}

// reader reads the code of a project.
type reader struct {
	project *Project
	root    string // of the project, without links
	fset    *token.FileSet
	plan    *Plan
	markers []marker
}

// scope is a file of a package.
type scope struct {
	*reader
	pkg     *packages.Package
	file    *ast.File
	imports map[string]string // paths by local names
}

func (r *reader) scope(pkg *packages.Package, file *ast.File) *scope {
	s := &scope{reader: r, pkg: pkg, file: file, imports: map[string]string{}}
	for _, i := range file.Imports {
		p := importPath(i)
		name := path.Base(p)
		if from, ok := pkg.Imports[p]; ok && from.Name != "" {
			name = from.Name
		}
		if p == ctrlPath {
			name = "controllerruntime"
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		s.imports[name] = p
	}
	return s
}

// at returns the place of a node.
func (s *scope) at(n ast.Node) string {
	at := s.fset.Position(n.Pos())
	if rel, err := filepath.Rel(s.root, at.Filename); err == nil && filepath.IsLocal(rel) {
		at.Filename = filepath.ToSlash(rel)
	}
	return at.Filename + ":" + strconv.Itoa(at.Line)
}

// literal matches a function literal in the text of an expression.
var literal = regexp.MustCompile(`\(func\(.* literal\)`)

// code returns an expression as one line.
func (s *scope) code(n ast.Expr) string {
	const most = 110
	text := literal.ReplaceAllString(types.ExprString(n), "func(...)")
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}

// function returns a package-level function that is called, as path.Name, or "".
func (s *scope) function(e ast.Expr) string {
	switch f := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		return s.function(f.X)
	case *ast.IndexListExpr:
		return s.function(f.X)
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && s.isPackage(x) {
			return s.imports[x.Name] + "." + f.Sel.Name
		}
	}
	return ""
}

func (s *scope) isPackage(x *ast.Ident) bool {
	if _, ok := s.imports[x.Name]; !ok {
		return false
	}
	if obj := s.pkg.TypesInfo.Uses[x]; obj != nil {
		_, ok := obj.(*types.PkgName)
		return ok
	}
	return true
}

// kind is the Go type of an object.
type kind struct {
	path, name string
	shown      string // as this file says it
}

func (k kind) known() bool { return k.name != "" }

// atRunTime reports whether objects of this type have a kind that is known at run time.
func (k kind) atRunTime() bool {
	return k.path == "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured" || k.path == "k8s.io/apimachinery/pkg/apis/meta/v1" && k.name == "PartialObjectMetadata"
}

func (k kind) String() string {
	if !k.known() {
		return "T"
	}
	return k.shown
}

// kindOf returns the type of an object: by its type, or else as it is written or declared.
func (s *scope) kindOf(e ast.Expr, in ast.Node) kind {
	if t := s.pkg.TypesInfo.TypeOf(e); t != nil {
		if p, ok := types.Unalias(t).(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil {
			if _, isInterface := n.Underlying().(*types.Interface); !isInterface {
				return s.kind(n.Obj().Pkg().Path(), n.Obj().Pkg().Name(), n.Obj().Name())
			}
			return kind{}
		}
	}
	return s.kindOfType(s.written(e, in))
}

// kindOfType returns the kind that a type expression names.
func (s *scope) kindOfType(t ast.Expr) kind {
	switch t := t.(type) {
	case *ast.StarExpr:
		return s.kindOfType(t.X)
	case *ast.Ident:
		if types.Universe.Lookup(t.Name) == nil {
			return s.kind(s.pkg.PkgPath, "", t.Name)
		}
	case *ast.SelectorExpr:
		if x, ok := t.X.(*ast.Ident); ok && s.imports[x.Name] != "" {
			return s.kind(s.imports[x.Name], x.Name, t.Sel.Name)
		}
	}
	return kind{}
}

// kind returns a kind by the name that this file uses for its package.
func (s *scope) kind(pkg, name, typeName string) kind {
	typeName = strings.TrimSuffix(typeName, "List")
	k := kind{path: pkg, name: typeName, shown: typeName}
	if pkg == s.pkg.PkgPath {
		return k
	}
	for local, p := range s.imports {
		if p == pkg {
			name = local
		}
	}
	if name != "" {
		k.shown = name + "." + typeName
	}
	return k
}

// written returns the type expression that an expression is written with, or that its variable is
// declared with in a function.
func (s *scope) written(e ast.Expr, in ast.Node) ast.Expr {
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		return s.written(e.X, in)
	case *ast.CompositeLit:
		return e.Type
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.Ident); ok && f.Name == "new" && len(e.Args) == 1 {
			return e.Args[0]
		}
	case *ast.Ident:
		var found ast.Expr
		if in == nil {
			return nil
		}
		ast.Inspect(in, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if name.Name != e.Name {
						continue
					}
					if found = n.Type; found == nil && i < len(n.Values) {
						found = s.written(n.Values[i], nil)
					}
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if x, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE && x.Name == e.Name && len(n.Lhs) == len(n.Rhs) {
						found = s.written(n.Rhs[i], nil)
					}
				}
			case *ast.Field:
				for _, name := range n.Names {
					if name.Name == e.Name {
						found = n.Type
					}
				}
			}
			return found == nil
		})
		return found
	}
	return nil
}

// readPackage finds the controllers, webhooks and the manager of a package.
func (r *reader) readPackage(pkg *packages.Package) {
	for _, file := range pkg.Syntax {
		s := r.scope(pkg, file)
		if s.at(file) != "" && strings.HasSuffix(r.fset.Position(file.Pos()).Filename, "_test.go") {
			continue
		}
		if rel, _, _ := strings.Cut(s.at(file), ":"); rel == r.project.Main {
			s.readManager()
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Body != nil {
					s.readFunction(d)
				}
			case *ast.GenDecl:
				s.readVariables(d)
			}
		}
	}
}

// readManager reads the options of the manager: those of a literal, and those that are assigned.
func (s *scope) readManager() {
	part := &Part{Aspect: "options", Guide: guideManager}
	add := func(n ast.Node, key string) {
		to, ok := managerOptions[key]
		if !ok {
			to.flyball = "nothing: see the fields of flyball.Options"
		}
		part.Items = append(part.Items, &Item{At: []string{s.at(n)}, Code: key, Flyball: to.flyball, Note: to.note})
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if n.Type == nil || !slices.Contains(optionTypes, s.function(n.Type)) {
				return true
			}
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					add(kv, types.ExprString(kv.Key))
				}
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok {
					if k := s.kindOf(sel.X, nil); k.path+"."+k.name == managerPath+".Options" {
						add(n, sel.Sel.Name)
					}
				}
			}
		}
		return true
	})
	if len(part.Items) > 0 {
		s.plan.Manager = part
	}
}

// optionTypes are the names of the options of a manager.
var optionTypes = []string{ctrlPath + ".Options", managerPath + ".Options"}

// readVariables finds the builders in the functions that variables of the package have.
func (s *scope) readVariables(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, value := range v.Values {
			body := &ast.BlockStmt{List: []ast.Stmt{&ast.ExprStmt{X: value}}}
			s.readFunction(&ast.FuncDecl{Name: v.Names[min(i, len(v.Names)-1)], Type: &ast.FuncType{Params: &ast.FieldList{}}, Body: body})
		}
	}
}

// link is one call of a chain of method calls.
type link struct {
	name string
	call *ast.CallExpr
}

// readFunction finds the builders in a function.
func (s *scope) readFunction(fn *ast.FuncDecl) {
	roots := map[string]*ast.CallExpr{} // builders by the variable that holds them
	calls := map[*ast.CallExpr][]link{}
	var order []*ast.CallExpr
	seen := map[*ast.CallExpr]bool{}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				x, ok := left.(*ast.Ident)
				if !ok || len(n.Rhs) <= i {
					continue
				}
				if root, _ := s.builder(n.Rhs[i], roots); root != nil && (len(n.Lhs) == len(n.Rhs) || s.plainly(root)) {
					roots[x.Name] = root
				}
			}
		case *ast.CallExpr:
			if seen[n] {
				return true
			}
			root, links := s.builder(n, roots)
			if root == nil {
				return true
			}
			if calls[root] == nil {
				order = append(order, root)
				calls[root] = []link{}
			}
			for _, l := range links {
				if !seen[l.call] {
					seen[l.call] = true
					calls[root] = append(calls[root], l)
				}
			}
			seen[root] = true
		}
		return true
	})
	for _, root := range order {
		links := calls[root]
		slices.SortFunc(links, func(a, b link) int { return cmp.Compare(a.call.End(), b.call.End()) })
		if strings.HasSuffix(s.function(root.Fun), "NewWebhookManagedBy") || strings.HasSuffix(s.function(root.Fun), ".WebhookManagedBy") {
			s.readWebhook(fn, root, links)
		} else if s.plainly(root) {
			s.readPlain(fn, root, links)
		} else {
			s.readController(fn, root, links)
		}
	}
}

// constructors make builders, in controller-runtime and in packages of programs that wrap its builder.
var constructors = []string{"NewControllerManagedBy", "ControllerManagedBy", "TypedControllerManagedBy", "NewWebhookManagedBy", "WebhookManagedBy"}

// wrapper returns the package of a constructor that is not controller-runtime's, or "".
func (s *scope) wrapper(root *ast.CallExpr) string {
	name := s.function(root.Fun)
	if pkg := name[:strings.LastIndex(name, ".")]; pkg != ctrlPath && pkg != builderPath {
		return pkg
	}
	return ""
}

// builder returns the call that makes the builder of a chain of calls, and the links after it.
func (s *scope) builder(e ast.Expr, roots map[string]*ast.CallExpr) (root *ast.CallExpr, links []link) {
	for {
		call, ok := ast.Unparen(e).(*ast.CallExpr)
		if !ok {
			break
		}
		if name := s.function(call.Fun); slices.Contains(constructors, name[strings.LastIndex(name, ".")+1:]) || s.plainly(call) {
			return call, links
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil, nil
		}
		links = append(links, link{sel.Sel.Name, call})
		e = sel.X
	}
	if x, ok := ast.Unparen(e).(*ast.Ident); ok {
		return roots[x.Name], links
	}
	return nil, nil
}

// readWebhook adds the webhooks that a chain registers.
func (s *scope) readWebhook(fn *ast.FuncDecl, root *ast.CallExpr, links []link) {
	w := &Webhook{At: s.at(root), Guide: guideWebhooks}
	k := kind{}
	if len(root.Args) > 1 { // since 0.23 the object is an argument
		k = s.kindOf(root.Args[1], fn)
	}
	for _, l := range links {
		if l.name == "For" && len(l.call.Args) > 0 {
			k = s.kindOf(l.call.Args[0], fn)
		}
	}
	w.Kind = k.shown
	add := func(n ast.Node, code, flyball, note string) {
		w.Items = append(w.Items, &Item{At: []string{s.at(n)}, Code: code, Flyball: flyball, Note: note})
	}
	for _, l := range links {
		end := l.call.Fun.(*ast.SelectorExpr).Sel
		switch l.name {
		case "WithDefaulter", "WithCustomDefaulter":
			add(end, l.name, fmt.Sprintf("webhook.Default[%s](mgr, defaulter)", k), "a function of *"+k.String()+"; fields that the type does not have stay")
		case "WithValidator", "WithCustomValidator":
			add(end, l.name, fmt.Sprintf("webhook.Validate[%s](mgr, validator)", k), "the same three methods, typed")
		case "WithConverter":
			add(end, l.name, "convert.Serve(mgr, convert.Hub[...](), convert.Spoke[...](toHub, fromHub))", "")
		}
	}
	if i := slices.IndexFunc(s.project.Resources, func(x Resource) bool {
		return x.Path == k.path && x.Kind == k.name && x.Webhooks != nil && x.Webhooks.Conversion
	}); i >= 0 {
		add(root, "conversion, by the methods Hub, ConvertTo and ConvertFrom",
			fmt.Sprintf("convert.Serve(mgr, convert.Hub[%s](), convert.SpokeByMethods[...]())", k), "the methods stay")
	}
	s.plan.Webhooks = append(s.plan.Webhooks, w)
}
