package lint

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

const logSection = "Log messages"

// met are internal packages whose errors users read: as causes in errors of public types.
var met = []string{"internal/decode", "internal/pack", "internal/wire"}

// TestErrorsAreDocumented compares docs/troubleshooting.md with the exported error types and Err
// variables of the public packages and of those in met. A heading "client.NotFoundError" is an entry; several names with
// commas between share one.
func TestErrorsAreDocumented(t *testing.T) {
	var documented []string
	for section, all := range headings(document(t, "docs/troubleshooting.md")) {
		if section == logSection {
			continue
		}
		for _, h := range all {
			documented = append(documented, strings.Split(h, ", ")...)
		}
	}
	known := map[string]bool{}
	types := errorTypes(sources(t))
	for _, s := range sources(t) {
		if !s.public() && !slices.Contains(met, s.pkg) {
			continue
		}
		for name := range types[s.pkg] {
			if ast.IsExported(name) {
				known[s.file.Name.Name+"."+name] = true
			}
		}
		for _, name := range errorVariables(s.file) {
			known[s.file.Name.Name+"."+name] = true
		}
	}
	delete(known, "wire.ErrIncomplete") // the reflector fills and goes on: no user meets it
	compare(t, "docs/troubleshooting.md", documented, known)
}

// errorTypes returns the types with a method Error by their package: their own, or that of an
// embedded type of the same package.
func errorTypes(all []source) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	embedded := map[string]map[string][]string{}
	for _, s := range all {
		if out[s.pkg] == nil {
			out[s.pkg], embedded[s.pkg] = map[string]bool{}, map[string][]string{}
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.Name == "Error" && d.Type.Params.NumFields() == 0 {
					out[s.pkg][baseType(d.Recv.List[0].Type)] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					ts, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					st, ok := ts.Type.(*ast.StructType)
					if !ok {
						continue
					}
					for _, f := range st.Fields.List {
						if len(f.Names) == 0 {
							embedded[s.pkg][ts.Name.Name] = append(embedded[s.pkg][ts.Name.Name], baseType(f.Type))
						}
					}
				}
			}
		}
	}
	for pkg, types := range out {
		for again := true; again; {
			again = false
			for name, fields := range embedded[pkg] {
				if !types[name] && slices.ContainsFunc(fields, func(f string) bool { return types[f] || f == "error" }) {
					types[name], again = true, true
				}
			}
		}
	}
	return out
}

// errorVariables returns the exported package variables whose names begin with Err.
func errorVariables(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			for _, n := range spec.(*ast.ValueSpec).Names {
				if strings.HasPrefix(n.Name, "Err") && ast.IsExported(n.Name) {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

// TestLogMessagesAreDocumented compares docs/troubleshooting.md with the messages that the framework
// logs at the levels WARN and ERROR. A heading is the message, word for word.
func TestLogMessagesAreDocumented(t *testing.T) {
	known := map[string]bool{}
	for _, s := range sources(t) {
		if forTests(s.pkg) {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				maps.Insert(known, maps.All(logMessages(f.Body)))
			}
		}
	}
	if len(known) < 30 {
		t.Fatalf("found %d messages: the search is broken", len(known))
	}
	compare(t, "docs/troubleshooting.md", headings(document(t, "docs/troubleshooting.md"))[logSection], known)
}

// logMessages returns the constant messages of the calls in a function that log at WARN or ERROR. Calls
// of Log, of NewRecord, and of functions named log count with their first argument that is a text, unless
// an argument names a lower level. A variable stands for all texts that the function assigns to it.
func logMessages(body *ast.BlockStmt) map[string]bool {
	assigned, found := map[string][]string{}, map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != len(a.Rhs) {
			return true
		}
		for i, r := range a.Rhs {
			if s, ok := literal(r); ok {
				assigned[baseType(a.Lhs[i])] = append(assigned[baseType(a.Lhs[i])], s)
			}
		}
		return true
	})
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		args := call.Args
		switch f.Sel.Name {
		case "Warn", "Error":
			args = args[:min(1, len(args))]
		case "WarnContext", "ErrorContext":
			args = args[:min(2, len(args))]
		case "Log", "LogAttrs", "NewRecord", "log":
		default:
			return true
		}
		for _, a := range args {
			if level, ok := a.(*ast.SelectorExpr); ok && (level.Sel.Name == "LevelDebug" || level.Sel.Name == "LevelInfo") {
				return true
			}
			if s, ok := literal(a); ok && strings.Contains(s, " ") {
				found[s] = true
				return true
			}
			if v, ok := a.(*ast.Ident); ok && len(assigned[v.Name]) > 0 {
				for _, s := range assigned[v.Name] {
					found[s] = true
				}
				return true
			}
		}
		return true
	})
	return found
}
