package adopt

import (
	"go/ast"
	"strings"
)

// ctrlCachePath is the package whose New makes the default cache.
const ctrlCachePath = ctrlPath + "/pkg/cache"

// replaceCache returns the edits that have a NewCache make the packed cache in place of the default one: in the function
// that it is, or that makes it, if this file has that function. It is a *SetError if nothing there makes the default cache.
func (s *source) replaceCache(old ast.Expr, value string) ([]edit, error) {
	e := &SetError{At: s.at(old), Value: s.code(old)}
	if local := s.localName(cachePath, "ctrlcache"); local != "" {
		e.Packed = strings.HasPrefix(e.Value, local+".") || s.calls(s.maker(old), local)
	}
	if cache := s.localName(ctrlCachePath, "cache"); cache != "" && !e.Packed {
		var edits []edit
		s.uses(s.maker(old), cache, func(n ast.Node, _ []ast.Node) {
			edits = append(edits, edit{s.offset(n.Pos()), s.offset(n.End()), value})
		})
		if len(edits) > 0 {
			if len(edits) == s.selectors(cache) { // an import without a use does not compile
				edits = append(edits, s.withoutImport(ctrlCachePath))
			}
			return append(edits, s.returnNil(old, value)...), nil
		}
	}
	return nil, e
}

// maker returns the code that makes a cache: the expression, or the function of this file that it names or calls.
func (s *source) maker(e ast.Expr) ast.Node {
	named := ast.Unparen(e)
	if call, ok := named.(*ast.CallExpr); ok {
		named = ast.Unparen(call.Fun)
	}
	if x, ok := named.(*ast.Ident); ok {
		if f := s.declared(x.Name); f != nil {
			return f
		}
	}
	return e
}

// declared returns a function of the file, or nil.
func (s *source) declared(name string) *ast.FuncDecl {
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == name {
			return f
		}
	}
	return nil
}

// uses calls do with each pkg.New in a node, and the nodes around it.
func (s *source) uses(in ast.Node, pkg string, do func(n ast.Node, around []ast.Node)) {
	ast.PreorderStack(in, nil, func(n ast.Node, stack []ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "New" {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == pkg && x.Obj == nil {
				do(n, stack)
			}
		}
		return true
	})
}

func (s *source) calls(in ast.Node, pkg string) (found bool) {
	s.uses(in, pkg, func(ast.Node, []ast.Node) { found = true })
	return found
}

// returnNil edits the places where a function that makes a NewCache returns nil, which selects the default cache.
func (s *source) returnNil(old ast.Expr, value string) (edits []edit) {
	if _, made := ast.Unparen(old).(*ast.CallExpr); !made {
		return nil
	}
	f, ok := s.maker(old).(*ast.FuncDecl)
	if !ok {
		return nil
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) == 1 && s.code(n.Results[0]) == "nil" {
				edits = append(edits, edit{s.offset(n.Results[0].Pos()), s.offset(n.Results[0].End()), value})
			}
		}
		return true
	})
	return edits
}

// restoreCache returns the edits that undo those of replaceCache, and how many uses of the packed cache they replace.
func (s *source) restoreCache(local string) (edits []edit, replaced int) {
	cache := s.localName(ctrlCachePath, "cache")
	imported := cache != ""
	if !imported {
		if cache = "cache"; s.names()[cache] {
			cache = "defaultcache"
		}
	}
	needed := false
	s.uses(s.file, local, func(n ast.Node, around []ast.Node) {
		to := cache + ".New"
		switch outer := around[len(around)-1].(type) {
		case *ast.KeyValueExpr:
			if s.code(outer.Key) == "NewCache" {
				return // the whole element goes
			}
		case *ast.AssignStmt:
			if len(outer.Lhs) == 1 && strings.HasSuffix(s.code(outer.Lhs[0]), ".NewCache") {
				return
			}
		case *ast.ReturnStmt:
			if len(outer.Results) == 1 {
				to = "nil"
			}
		}
		edits = append(edits, edit{s.offset(n.Pos()), s.offset(n.End()), to})
		needed = needed || to != "nil"
	})
	if replaced = len(edits); needed && !imported {
		edits = append(edits, s.addImport(cache, ctrlCachePath))
	}
	return edits, replaced
}
