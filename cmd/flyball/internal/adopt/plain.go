package adopt

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// plainConstructors make a controller without a builder: its name, the manager, and options with the reconciler.
var plainConstructors = []string{
	controllerPath + ".New", controllerPath + ".NewTyped", controllerPath + ".NewUnmanaged", controllerPath + ".NewTypedUnmanaged",
}

// plainly reports whether a call makes a controller without a builder.
func (s *scope) plainly(call *ast.CallExpr) bool {
	return slices.Contains(plainConstructors, s.function(call.Fun))
}

// readPlain adds a controller that is made without a builder. links are the calls of its methods in the same function.
func (s *scope) readPlain(fn *ast.FuncDecl, root *ast.CallExpr, links []link) {
	b := &body{scope: s, c: &Controller{At: s.at(root)}, used: &usage{reader: s.reader}}
	args := root.Args
	if len(args) > 0 {
		b.c.Name = s.code(args[0])
		if lit, ok := args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			b.c.Name, _ = strconv.Unquote(lit.Value)
		} else if x, ok := args[0].(*ast.Ident); ok {
			b.c.Name = s.constant(x)
		}
	}
	var reconciler ast.Expr
	for _, x := range args[min(1, len(args)):] {
		if lit, ok := ast.Unparen(x).(*ast.CompositeLit); ok {
			reconciler = field(lit, "Reconciler")
			b.options(x, without(lit, "Reconciler"))
		}
	}
	for _, l := range links {
		if l.name == "Watch" && len(l.call.Args) > 0 {
			b.plainWatch(fn, l)
		}
	}
	b.reconciler(fn, reconciler)
	b.c.Permissions = b.used.compare(b.files())
	s.plan.Controllers = append(s.plan.Controllers, b.c)
}

// constant returns the text of a constant of the package, or its name.
func (s *scope) constant(x *ast.Ident) string {
	for _, file := range s.pkg.Syntax {
		for _, d := range file.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for i, name := range v.Names {
					if name.Name != x.Name || i >= len(v.Values) {
						continue
					}
					if lit, ok := v.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						text, _ := strconv.Unquote(lit.Value)
						return text
					}
				}
			}
		}
	}
	return x.Name
}

// without returns a literal without one of its fields.
func without(lit *ast.CompositeLit, name string) *ast.CompositeLit {
	rest := *lit
	rest.Elts = slices.DeleteFunc(slices.Clone(lit.Elts), func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, ok := kv.Key.(*ast.Ident)
		return ok && key.Name == name
	})
	return &rest
}

// plainWatch adds a call of Watch: of a kind, by its cache, object and handler, or of another source.
func (b *body) plainWatch(fn *ast.FuncDecl, l link) {
	at := l.call.Fun.(*ast.SelectorExpr).Sel
	from, ok := ast.Unparen(l.call.Args[0]).(*ast.CallExpr)
	if !ok || !strings.HasPrefix(b.function(from.Fun), sourcePath+".") {
		b.rawSource(at, l.call.Args[0])
		return
	}
	if name := b.function(from.Fun); name != sourcePath+".Kind" && name != sourcePath+".TypedKind" || len(from.Args) < 2 {
		b.rawSource(at, l.call.Args[0])
		return
	}
	// The handler and predicates are arguments of Kind, and were those of Watch.
	rest := slices.Concat(from.Args[2:], l.call.Args[1:])
	b.watchArgs(fn, at, "Watch", append([]ast.Expr{from.Args[1]}, rest...))
}
