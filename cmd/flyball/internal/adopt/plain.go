package adopt

import (
	"go/ast"
	"go/constant"
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
		b.c.Name = s.text(args[0])
	}
	var reconciler ast.Expr
	for _, x := range args[min(1, len(args)):] {
		if lit := s.literal(x, fn); lit != nil {
			reconciler = field(lit, "Reconciler")
			b.options(x, without(lit, "Reconciler"))
		}
		if set := s.assigned(x, "Reconciler", fn); set != nil {
			reconciler = set
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

// text returns the text of a constant expression, or the expression.
func (s *scope) text(e ast.Expr) string {
	if v := s.pkg.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	if lit, ok := e.(*ast.BasicLit); ok { // of code without types
		if text, err := strconv.Unquote(lit.Value); err == nil {
			return text
		}
	}
	return s.code(e)
}

// literal returns the composite literal that an expression is, or that its variable is made of in a function.
func (s *scope) literal(e ast.Expr, in *ast.FuncDecl) (found *ast.CompositeLit) {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return e
	case *ast.Ident:
		ast.Inspect(in, func(n ast.Node) bool {
			if def, ok := n.(*ast.AssignStmt); ok && def.Tok == token.DEFINE && len(def.Lhs) == len(def.Rhs) {
				for i, left := range def.Lhs {
					if lit, ok := def.Rhs[i].(*ast.CompositeLit); ok && s.same(left, e) {
						found = lit
					}
				}
			}
			return found == nil
		})
	}
	return found
}

// assigned returns what a function assigns to a field of a variable, or nil.
func (s *scope) assigned(e ast.Expr, field string, in *ast.FuncDecl) (value ast.Expr) {
	x, ok := e.(*ast.Ident)
	if !ok {
		return nil
	}
	ast.Inspect(in, func(n ast.Node) bool {
		if set, ok := n.(*ast.AssignStmt); ok && len(set.Lhs) == len(set.Rhs) {
			for i, left := range set.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == field && s.same(sel.X, x) {
					value = set.Rhs[i]
				}
			}
		}
		return true
	})
	return value
}

// same reports whether an expression is this variable: by its object, or in code without types by its name.
func (s *scope) same(e ast.Expr, x *ast.Ident) bool {
	y, ok := e.(*ast.Ident)
	return ok && x.Name == y.Name && s.pkg.TypesInfo.ObjectOf(x) == s.pkg.TypesInfo.ObjectOf(y)
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
