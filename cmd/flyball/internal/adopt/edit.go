package adopt

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Import paths of controller-runtime and of the packed cache.
const (
	ctrlPath    = "sigs.k8s.io/controller-runtime"
	managerPath = ctrlPath + "/pkg/manager"
	corePath    = "github.com/flyball-io/flyball"
	adapterPath = corePath + "/adapter"
	cachePath   = adapterPath + "/ctrlcache"
)

// NoManagerError says that a file makes no manager.
type NoManagerError struct{ File string }

func (e *NoManagerError) Error() string {
	return fmt.Sprintf("%s: no call of ctrl.NewManager or manager.New: name the file that has it by --main", e.File)
}

// SetError says that the options of the manager have a NewCache already, which cannot be changed.
type SetError struct {
	// At is the file and line.
	At string
	// Value is the expression.
	Value string
	// Packed says that it is the packed cache.
	Packed bool
}

func (e *SetError) Error() string {
	if e.Packed {
		return fmt.Sprintf("%s: NewCache is %s already: there is nothing to do", e.At, e.Value)
	}
	return fmt.Sprintf("%s: NewCache is set already, to %s, which does not make a cache by cache.New in this file: call ctrlcache.New there in its place, by hand, or remove it", e.At, e.Value)
}

// OptionsError says that the options of the manager are made where this package cannot change them.
type OptionsError struct {
	// At is the file and line of the call, and Options the expression.
	At, Options string
}

func (e *OptionsError) Error() string {
	return fmt.Sprintf("%s: the options of the manager are %s: set NewCache: ctrlcache.New by hand where they are made, and import %q", e.At, e.Options, cachePath)
}

// InformerError says that the program sets NewInformer, which the packed cache takes only if it is told to
// ignore it.
type InformerError struct {
	// At are the files and lines.
	At []string
}

func (e *InformerError) Error() string {
	return fmt.Sprintf("%s: NewInformer is set, and the packed cache makes its own informers: if the function only names informers for metrics, "+
		"set NewCache: ctrlcache.Options{IgnoreNewInformer: true}.New by hand in the options of the manager, and import %q; if it does more, the default cache must stay", places(e.At), cachePath)
}

// source is a parsed file that makes a manager.
type source struct {
	name string
	text []byte
	fset *token.FileSet
	file *ast.File
}

func parseSource(name string, text []byte) (*source, error) {
	s := &source{name: name, text: text, fset: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.fset, name, text, parser.ParseComments)
	return s, err
}

// edit is a piece of text that replaces another one.
type edit struct {
	from, to int // offsets
	text     string
}

// addCache returns the file with NewCache set to the packed cache. taken reports whether the package has
// a name in another file.
func addCache(name string, text []byte, taken func(string) bool) ([]byte, error) {
	s, err := parseSource(name, text)
	if err != nil {
		return nil, err
	}
	call, stack, err := s.manager()
	if err != nil {
		return nil, err
	}
	if len(call.Args) != 2 {
		return nil, &OptionsError{At: s.at(call), Options: "not the second argument of two"}
	}
	local, imported := s.cacheName(taken)
	value := local + ".New"
	var edits []edit
	switch x := ast.Unparen(call.Args[1]).(type) {
	case *ast.CompositeLit:
		edits, err = s.setInLiteral(x, value)
	case *ast.Ident:
		edits, err = s.setInVariable(x, value, stack)
	default:
		err = &OptionsError{At: s.at(call), Options: s.code(x)}
	}
	if err != nil {
		return nil, err
	}
	if !imported {
		edits = append(edits, s.addImport(local, cachePath))
	}
	return s.apply(edits)
}

// manager returns the one call that makes a manager, and the nodes around it, outermost first.
func (s *source) manager() (found *ast.CallExpr, around []ast.Node, err error) {
	ctrl, manager := s.localName(ctrlPath, "controllerruntime"), s.localName(managerPath, "manager")
	ast.PreorderStack(s.file, nil, func(n ast.Node, stack []ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !isCall(call, ctrl, "NewManager") && !isCall(call, manager, "New") {
			return true
		}
		if found != nil && err == nil {
			err = fmt.Errorf("%s: this file makes several managers, also at line %d: set NewCache: ctrlcache.New by hand in the options of those that are to have it",
				s.at(found), s.fset.Position(call.Pos()).Line)
		}
		found, around = call, slices.Clone(stack)
		return true
	})
	if found == nil {
		err = &NoManagerError{File: s.name}
	}
	return found, around, err
}

// isCall reports whether a call is one of pkg.name. An empty pkg is none.
func isCall(call *ast.CallExpr, pkg, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name || pkg == "" {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// setInLiteral sets NewCache in a composite literal of options.
func (s *source) setInLiteral(lit *ast.CompositeLit, value string) ([]edit, error) {
	if old := field(lit, "NewCache"); old != nil {
		return s.replaceCache(old, value)
	}
	open, end := s.offset(lit.Lbrace)+1, s.line(lit.Rbrace)
	first := s.line(lit.Lbrace)
	switch {
	case len(lit.Elts) == 0 && end == first:
		return []edit{{open, open, "NewCache: " + value}}, nil
	case len(lit.Elts) == 0:
		return []edit{{open, open, s.newline() + s.indent(lit.Rbrace) + "\tNewCache: " + value + ","}}, nil
	case s.line(lit.Elts[0].Pos()) == first:
		return []edit{{open, open, "NewCache: " + value + ", "}}, nil
	}
	// A line of its own: after the scheme where that has its lines for itself, or as the first one.
	after := first
	if kv := fieldOf(lit, "Scheme"); kv != nil {
		i := slices.Index(lit.Elts, ast.Expr(kv))
		next := end
		if i+1 < len(lit.Elts) {
			next = s.line(lit.Elts[i+1].Pos())
		}
		if last := s.line(kv.End()); next > last && s.line(kv.Pos()) > first {
			after = last
		}
	}
	at := s.lineStart(after + 1)
	return []edit{{at, at, s.indent(lit.Elts[0].Pos()) + "NewCache: " + value + "," + s.newline()}}, nil
}

// setInVariable sets NewCache in options that a variable holds: where it is made of a literal, or
// before the manager is made.
func (s *source) setInVariable(x *ast.Ident, value string, around []ast.Node) ([]edit, error) {
	var lits []*ast.CompositeLit
	var set ast.Expr
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				right := n.Rhs[min(i, len(n.Rhs)-1)]
				if same(left, x) {
					if lit, ok := right.(*ast.CompositeLit); ok {
						lits = append(lits, lit)
					}
				}
				if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "NewCache" && same(sel.X, x) {
					set = right
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) && same(name, x) {
					if lit, ok := n.Values[i].(*ast.CompositeLit); ok {
						lits = append(lits, lit)
					}
				}
			}
		}
		return true
	})
	for _, lit := range lits {
		if old := field(lit, "NewCache"); old != nil && set == nil {
			set = old
		}
	}
	if set != nil {
		return s.replaceCache(set, value)
	}
	if len(lits) == 1 {
		return s.setInLiteral(lits[0], value)
	}
	for i := len(around) - 1; i > 0; i-- {
		stmt, ok := around[i].(ast.Stmt)
		if _, inBlock := around[i-1].(*ast.BlockStmt); !ok || !inBlock {
			continue
		}
		at := s.offset(stmt.Pos())
		return []edit{{at, at, x.Name + ".NewCache = " + value + s.newline() + s.indent(stmt.Pos())}}, nil
	}
	return nil, &OptionsError{At: s.at(x), Options: x.Name}
}

// newInformer returns where the options of a cache are given a function that makes informers.
func (s *source) newInformer() (at []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if kv := fieldOf(n, "NewInformer"); kv != nil {
				at = append(at, s.at(kv))
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "NewInformer" {
					at = append(at, s.at(sel))
				}
			}
		}
		return true
	})
	return at
}

// same reports whether an expression is this variable.
func same(e ast.Expr, x *ast.Ident) bool {
	y, ok := e.(*ast.Ident)
	return ok && y.Name == x.Name && y.Obj == x.Obj
}

// field returns the value of a field of a literal, or nil.
func field(lit *ast.CompositeLit, name string) ast.Expr {
	if kv := fieldOf(lit, name); kv != nil {
		return kv.Value
	}
	return nil
}

func fieldOf(lit *ast.CompositeLit, name string) *ast.KeyValueExpr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == name {
				return kv
			}
		}
	}
	return nil
}

// removeCache returns the file without what addCache adds.
func removeCache(name string, text []byte) ([]byte, error) {
	s, err := parseSource(name, text)
	if err != nil {
		return nil, err
	}
	local := s.localName(cachePath, "ctrlcache")
	var edits []edit
	removed := 0
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			for i, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok && s.code(kv) == "NewCache: "+local+".New" {
					edits = append(edits, s.withoutElement(n, i))
					removed++
				}
			}
		case *ast.AssignStmt:
			if len(n.Lhs) == 1 && len(n.Rhs) == 1 && strings.HasSuffix(s.code(n.Lhs[0]), ".NewCache") && s.code(n.Rhs[0]) == local+".New" {
				edits = append(edits, s.withoutLines(n))
				removed++
			}
		}
		return true
	})
	if local != "" {
		restored, n := s.restoreCache(local)
		edits, removed = append(edits, restored...), removed+n
	}
	if local == "" || removed == 0 {
		return nil, fmt.Errorf("%s: there is no line \"NewCache: ctrlcache.New\" to remove", name)
	}
	if s.selectors(local) == removed {
		edits = append(edits, s.withoutImport(cachePath))
	}
	return s.apply(edits)
}

// withoutElement removes an element of a literal, with its line if it has one for itself.
func (s *source) withoutElement(lit *ast.CompositeLit, i int) edit {
	e := lit.Elts[i]
	before, after := lit.Lbrace, lit.Rbrace
	if i > 0 {
		before = lit.Elts[i-1].End()
	}
	if i+1 < len(lit.Elts) {
		after = lit.Elts[i+1].Pos()
	}
	if s.line(before) < s.line(e.Pos()) && s.line(after) > s.line(e.End()) {
		return s.withoutLines(e)
	}
	switch {
	case i+1 < len(lit.Elts):
		return edit{from: s.offset(e.Pos()), to: s.offset(after)}
	case i > 0:
		return edit{from: s.offset(before), to: s.offset(e.End())}
	}
	return edit{from: s.offset(lit.Lbrace) + 1, to: s.offset(lit.Rbrace)}
}

// withoutLines removes the lines of a node.
func (s *source) withoutLines(n ast.Node) edit {
	return edit{from: s.lineStart(s.line(n.Pos())), to: s.lineStart(s.line(n.End()) + 1)}
}

// selectors counts the uses of a package.
func (s *source) selectors(pkg string) (n int) {
	ast.Inspect(s.file, func(x ast.Node) bool {
		if sel, ok := x.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == pkg && x.Obj == nil {
				n++
			}
		}
		return true
	})
	return n
}

// withoutImport removes the import of a package.
func (s *source) withoutImport(pkg string) edit {
	for _, d := range s.file.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.IMPORT {
			continue
		}
		for _, spec := range gen.Specs {
			if importPath(spec.(*ast.ImportSpec)) != pkg {
				continue
			}
			if len(gen.Specs) == 1 {
				return s.withoutLines(gen)
			}
			return s.withoutLines(spec)
		}
	}
	return edit{}
}

// localName returns the local name of an imported package in the file, or "" if it is not imported.
func (s *source) localName(pkg, name string) string {
	for _, i := range s.file.Imports {
		if importPath(i) == pkg {
			if i.Name == nil {
				return name
			}
			if i.Name.Name != "_" && i.Name.Name != "." {
				return i.Name.Name
			}
		}
	}
	return ""
}

func importPath(i *ast.ImportSpec) string {
	p, _ := strconv.Unquote(i.Path.Value) // the parser has checked it
	return p
}

// cacheName returns the name for the package of the packed cache, and whether it is imported.
func (s *source) cacheName(taken func(string) bool) (local string, imported bool) {
	if local = s.localName(cachePath, "ctrlcache"); local != "" {
		return local, true
	}
	used := s.names()
	for i := 1; ; i++ {
		local = "ctrlcache"
		if i > 1 {
			local = "flyballcache"
		}
		if i > 2 {
			local += strconv.Itoa(i - 1)
		}
		if !used[local] && !taken(local) {
			return local, false
		}
	}
}

// names returns the names that the file uses.
func (s *source) names() map[string]bool {
	used := map[string]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			used[n.Name] = true
		case *ast.ImportSpec:
			used[path.Base(importPath(n))] = true
		}
		return true
	})
	return used
}

// addImport adds the import of a package beside that of controller-runtime, at its place in the order of paths.
func (s *source) addImport(local, pkg string) edit {
	spec := strconv.Quote(pkg)
	if local != path.Base(pkg) {
		spec = local + " " + spec
	}
	for _, d := range s.file.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.IMPORT {
			continue
		}
		i := slices.IndexFunc(gen.Specs, func(x ast.Spec) bool {
			p := importPath(x.(*ast.ImportSpec))
			return p == ctrlPath || p == managerPath
		})
		if i < 0 {
			continue
		}
		if !gen.Lparen.IsValid() {
			at := s.lineStart(s.line(gen.End()) + 1)
			return edit{at, at, "import " + spec + s.newline()}
		}
		// The group of an import has no empty line in it.
		first := i
		for first > 0 && s.line(start(gen.Specs[first]))-s.line(gen.Specs[first-1].End()) <= 1 {
			first--
		}
		at := first
		for at < i && importPath(gen.Specs[at].(*ast.ImportSpec)) < pkg {
			at++
		}
		from := s.lineStart(s.line(start(gen.Specs[at])))
		return edit{from, from, s.indent(gen.Specs[at].Pos()) + spec + s.newline()}
	}
	// Unreachable: a manager is made by one of the two packages.
	return edit{}
}

// start returns where an import begins, with its comment.
func start(x ast.Spec) token.Pos {
	if doc := x.(*ast.ImportSpec).Doc; doc != nil {
		return doc.Pos()
	}
	return x.Pos()
}

var errNotGo = errors.New("the changed file would not be Go code: set NewCache: ctrlcache.New by hand")

// apply returns the text with the edits. It is formatted if it was before.
func (s *source) apply(edits []edit) ([]byte, error) {
	// From the end on. What is inserted where something goes away comes after that.
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(cmp.Compare(b.from, a.from), cmp.Compare(b.to, a.to)) })
	out := slices.Clone(s.text)
	for _, e := range edits {
		out = slices.Replace(out, e.from, e.to, []byte(e.text)...)
	}
	pretty, err := format.Source(out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, errors.Join(errNotGo, err))
	}
	if was, err := format.Source(s.text); err == nil && bytes.Equal(was, s.text) {
		return pretty, nil
	}
	return out, nil
}

func (s *source) offset(p token.Pos) int { return s.fset.PositionFor(p, false).Offset }
func (s *source) line(p token.Pos) int   { return s.fset.PositionFor(p, false).Line }

// lineStart returns the offset of a line, or that of the end of the file.
func (s *source) lineStart(line int) int {
	f := s.fset.File(s.file.FileStart)
	if line > f.LineCount() {
		return len(s.text)
	}
	return f.Offset(f.LineStart(line))
}

// indent returns the white space at the beginning of a line.
func (s *source) indent(p token.Pos) string {
	line := s.text[s.lineStart(s.line(p)):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (s *source) newline() string {
	if bytes.Contains(s.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// at returns the file and line of a node.
func (s *source) at(n ast.Node) string { return fmt.Sprintf("%s:%d", s.name, s.line(n.Pos())) }

// code returns a node as one line of code.
func (s *source) code(n ast.Node) string {
	text := s.text[s.offset(n.Pos()):s.offset(n.End())]
	return strings.Join(strings.Fields(string(text)), " ")
}
