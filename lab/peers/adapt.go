package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// edit replaces a part of a text.
type edit struct {
	from, to int
	text     string
}

// testsIn returns the names of the test functions of a file.
func testsIn(text []byte) ([]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && strings.HasPrefix(d.Name.Name, "Test") {
			all = append(all, d.Name.Name)
		}
	}
	return all, nil
}

// adapt moves a file of tests out of the package of, which it imports under no name; empty: it needs no import. It drops functions, renames
// identifiers, and drops the imports that nothing needs any more.
func adapt(text []byte, pkg, of string, drop []string, rename map[string]string) ([]byte, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return set.Position(p).Offset }
	if of != "" {
		pkg += "\n\nimport . " + strconv.Quote(of)
	}
	edits := []edit{{at(f.Name.Pos()), at(f.Name.End()), pkg}}
	used := map[string]bool{}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && slices.Contains(drop, d.Name.Name) {
			from := d.Pos()
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
			edits = append(edits, edit{at(from), at(d.End()), ""})
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					used[x.Name] = true
				}
			case *ast.Ident:
				if to := rename[n.Name]; to != "" {
					edits = append(edits, edit{at(n.Pos()), at(n.End()), to})
				}
			}
			return true
		})
	}
	for _, i := range f.Imports {
		if !used[nameOf(i)] && nameOf(i) != "_" {
			edits = append(edits, edit{at(i.Pos()), at(i.End()), ""})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(b.from, a.from) })
	out := string(text)
	for _, e := range edits {
		out = out[:e.from] + e.text + out[e.to:]
	}
	formatted, err := format.Source([]byte(out))
	if err != nil {
		return nil, fmt.Errorf("the adapted file: %w", err)
	}
	return formatted, nil
}

var version = regexp.MustCompile(`^v[0-9]+$`)

// nameOf returns the name of an import.
func nameOf(i *ast.ImportSpec) string {
	if i.Name != nil {
		return i.Name.Name
	}
	p, _ := strconv.Unquote(i.Path.Value)
	if version.MatchString(path.Base(p)) {
		p = path.Dir(p)
	}
	return path.Base(p)
}
