package scaffold

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// conversionMarker, at the stored version of a kind, makes the API server convert by webhook.
const conversionMarker = "+flyball:conversion=webhook"

// typesSource is the file of a kind's Go types in its hub version.
type typesSource struct {
	name string
	text []byte
	fset *token.FileSet
	file *ast.File
	// local are the types that the file declares.
	local map[string]ast.Expr
}

// parseTypes parses a file of types. The error names file and line.
func parseTypes(name string, text []byte) (*typesSource, error) {
	t := &typesSource{name: name, text: text, fset: token.NewFileSet(), local: map[string]ast.Expr{}}
	var err error
	if t.file, err = parser.ParseFile(t.fset, name, text, parser.ParseComments); err != nil {
		return nil, err
	}
	for _, d := range t.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					t.local[s.Name.Name] = s.Type
				}
			}
		}
	}
	return t, nil
}

// foreign returns the names that the file uses and other files of its package declare.
func (t *typesSource) foreign() []string {
	imported := map[string]bool{}
	for _, i := range t.file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		imported[name] = true
	}
	var out []string
	for _, id := range t.file.Unresolved {
		if !imported[id.Name] && types.Universe.Lookup(id.Name) == nil && !slices.Contains(out, id.Name) {
			out = append(out, id.Name)
		}
	}
	return out
}

var hubMarkers = regexp.MustCompile(`(?m)^[ \t]*//[ \t]*\+(kubebuilder:storageversion|flyball:conversion=webhook)[ \t]*\n`)

// conversionLine is the line of the marker.
var conversionLine = regexp.MustCompile(`(?m)^[ \t]*// ?\+flyball:conversion=webhook[ \t]*\n`)

// copyTo returns the file for another version, which is not the stored one.
func (t *typesSource) copyTo(version string) ([]byte, error) {
	if f := t.foreign(); len(f) > 0 {
		return nil, fmt.Errorf("%s uses %s of other files: version %s is made as a copy of this one file, so put them into it", t.name, strings.Join(f, ", "), version)
	}
	at := t.fset.Position(t.file.Name.Pos()).Offset
	var out bytes.Buffer
	out.Write(t.text[:at])
	out.WriteString(version)
	out.Write(t.text[at+len(t.file.Name.Name):])
	return format.Source(hubMarkers.ReplaceAll(out.Bytes(), nil))
}

// flat reports whether a type has the same shape in every package: it contains no type of the file.
func (t *typesSource) flat(x ast.Expr) bool {
	flat := true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			return false // of another package
		case *ast.Field:
			flat = flat && t.flat(n.Type)
			return false
		case *ast.Ident:
			flat = flat && t.local[n.Name] == nil
		}
		return flat
	})
	return flat
}

// copier writes the code that copies values of the file's types from one version to another.
type copier struct {
	*typesSource
	from, to string // "" or "hub.": the qualifier of the types
	suffix   string // of the names of functions
	made     map[string]bool
	funcs    bytes.Buffer
	err      error
}

func (c *copier) text(x ast.Expr) string {
	var out bytes.Buffer
	_ = printer.Fprint(&out, c.fset, x)
	return out.String()
}

// typed returns a type expression with its local names qualified.
func (c *copier) typed(x ast.Expr, qualifier string) string {
	switch x := x.(type) {
	case *ast.Ident:
		if c.local[x.Name] != nil {
			return qualifier + x.Name
		}
	case *ast.StarExpr:
		return "*" + c.typed(x.X, qualifier)
	case *ast.ArrayType:
		if x.Len == nil {
			return "[]" + c.typed(x.Elt, qualifier)
		}
	case *ast.MapType:
		return "map[" + c.typed(x.Key, qualifier) + "]" + c.typed(x.Value, qualifier)
	}
	return c.text(x)
}

// assign returns statements that set out, a variable of type x in the target's package, to in.
func (c *copier) assign(out, in string, x ast.Expr, depth int) string {
	if c.flat(x) {
		return out + " = " + in + "\n"
	}
	i, v := "i"+strconv.Itoa(depth), "v"+strconv.Itoa(depth)
	switch x := x.(type) {
	case *ast.Ident:
		if c.flat(c.local[x.Name]) {
			return fmt.Sprintf("%s = %s%s(%s)\n", out, c.to, x.Name, in)
		}
		return fmt.Sprintf("%s = %s(%s)\n", out, c.function(x.Name), in)
	case *ast.StarExpr:
		return fmt.Sprintf("if %s != nil {\n%s = new(%s)\n%s}\n", in, out, c.typed(x.X, c.to), c.assign("*"+out, "*"+in, x.X, depth+1))
	case *ast.ArrayType:
		if x.Len == nil {
			return fmt.Sprintf("if %s != nil {\n%s = make(%s, len(%s))\nfor %s := range %s {\n%s}\n}\n",
				in, out, c.typed(x, c.to), in, i, in, c.assign(out+"["+i+"]", in+"["+i+"]", x.Elt, depth+1))
		}
	case *ast.MapType:
		key := i
		if !c.flat(x.Key) {
			key = c.typed(x.Key, c.to) + "(" + i + ")"
		}
		return fmt.Sprintf("if %s != nil {\n%s = make(%s, len(%s))\nfor %s, %s := range %s {\nvar to %s\n%s%s[%s] = to\n}\n}\n",
			in, out, c.typed(x, c.to), in, i, v, in, c.typed(x.Value, c.to), c.assign("to", v, x.Value, depth+1), out, key)
	}
	c.err = fmt.Errorf("%s: no conversion can be written for the type %s: give it a name of its own, or make it a struct, slice or map", c.fset.Position(x.Pos()), c.text(x))
	return ""
}

// function makes the function that copies a named type, and returns its name.
func (c *copier) function(name string) string {
	fn := strings.ToLower(name[:1]) + name[1:] + c.suffix
	if c.made[fn] {
		return fn
	}
	c.made[fn] = true
	var body strings.Builder
	if s, ok := c.local[name].(*ast.StructType); ok {
		for _, f := range s.Fields.List {
			for _, field := range fieldNames(f) {
				body.WriteString(c.assign("out."+field, "in."+field, f.Type, 0))
			}
		}
	} else {
		body.WriteString(c.assign("out", "in", c.local[name], 0))
	}
	fmt.Fprintf(&c.funcs, "\nfunc %s(in %s%s) (out %s%s) {\n%sreturn out\n}\n", fn, c.from, name, c.to, name, body.String())
	return fn
}

func fieldNames(f *ast.Field) []string {
	var out []string
	for _, n := range f.Names {
		out = append(out, n.Name)
	}
	if len(out) > 0 {
		return out
	}
	x := f.Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return []string{x.Sel.Name}
	case *ast.Ident:
		return []string{x.Name}
	}
	return nil
}

// copyKind returns the statements that copy all of a kind except its type and metadata, and the
// functions that they call.
func (t *typesSource) copyKind(kind, in, from, out, to, suffix string) (body, funcs string, err error) {
	s, ok := t.local[kind].(*ast.StructType)
	if !ok {
		return "", "", fmt.Errorf("%s declares no struct %s", t.name, kind)
	}
	c := &copier{typesSource: t, from: from, to: to, suffix: suffix, made: map[string]bool{}}
	var text strings.Builder
	for _, f := range s.Fields.List {
		for _, name := range fieldNames(f) {
			if name != "TypeMeta" && name != "ObjectMeta" { // both are copied before
				text.WriteString(c.assign(out+"."+name, in+"."+name, f.Type, 0))
			}
		}
	}
	return strings.TrimSpace(text.String()), c.funcs.String(), c.err
}

// withConversion returns the file with the marker for the conversion webhook at its kind.
func (t *typesSource) withConversion(kind string) ([]byte, error) {
	if bytes.Contains(t.text, []byte(conversionMarker)) {
		return t.text, nil
	}
	return t.withMarkers(kind, conversionMarker)
}

// withMarkers returns the file with markers at a kind.
func (t *typesSource) withMarkers(kind string, markers ...string) ([]byte, error) {
	g, err := t.declaration(kind, markers[0])
	if err != nil {
		return nil, err
	}
	at := t.fset.Position(g.Pos()).Offset
	return slices.Concat(t.text[:at], []byte("// "+strings.Join(markers, "\n// ")+"\n"), t.text[at:]), nil
}

// withoutMarkers returns the file without the markers of the hub at a kind.
func (t *typesSource) withoutMarkers(kind string) ([]byte, error) {
	g, err := t.declaration(kind, storageMarker)
	if err != nil || g.Doc == nil {
		return t.text, err
	}
	from, to := t.fset.Position(g.Doc.Pos()).Offset, t.fset.Position(g.Pos()).Offset
	return slices.Concat(t.text[:from], hubMarkers.ReplaceAll(t.text[from:to], nil), t.text[to:]), nil
}

// declaration returns the declaration of a kind, to which a marker belongs.
func (t *typesSource) declaration(kind, marker string) (*ast.GenDecl, error) {
	for _, d := range t.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE && len(g.Specs) == 1 && g.Specs[0].(*ast.TypeSpec).Name.Name == kind {
			return g, nil
		}
	}
	return nil, fmt.Errorf("%s: there is no declaration of type %s alone, to which the marker %s would go", t.name, kind, marker)
}

// convert returns the file of the functions between a spoke and the hub. They copy, while both have
// the same fields.
func (t *typesSource) convert(sc scene) ([]byte, error) {
	kind := sc.API.Kind
	var funcs [2]string
	var err error
	if sc.ToHub, funcs[0], err = t.copyKind(kind, "s", "", "h", "hub.", "ToHub"); err != nil {
		return nil, err
	}
	if sc.FromHub, funcs[1], err = t.copyKind(kind, "h", "hub.", "s", "", "FromHub"); err != nil {
		return nil, err
	}
	sc.Functions = funcs[0] + funcs[1]
	return render("api/conversion.go", sc)
}

// conversion makes the functions between a spoke and the hub.
func (s *step) conversion(sc scene, t *typesSource) error {
	made, err := t.convert(sc)
	if err != nil {
		return err
	}
	marked, err := t.withConversion(sc.API.Kind)
	if err != nil {
		return err
	}
	if err := s.write(t.name, marked); err != nil {
		return err
	}
	if err := s.add(apiFile(sc.API, sc.Version.Name, "conversion.go"), made); err != nil {
		return err
	}
	return s.create(apiFile(sc.API, sc.Version.Name, "conversion_test.go"), "api/conversion_test.go", sc)
}
