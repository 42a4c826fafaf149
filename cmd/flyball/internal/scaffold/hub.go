package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
)

// storageMarker, at a version of a kind, makes it the stored one.
const storageMarker = "+kubebuilder:storageversion"

// NewHub moves the hub of a kind.
type NewHub struct {
	Group, Kind string
	// Hub is the version that is stored from then on.
	Hub string
	// Yes makes conversions between other versions anew, though they were edited.
	Yes bool
}

// Check rejects invalid names, independently of the project.
func (n *NewHub) Check() error {
	return errors.Join(checkGroup(n.Group, ""), checkVersion(n.Hub), checkKind(n.Kind))
}

// MoveHub makes another version of a kind the hub: the stored version, to which the others convert. The conversion between
// the old and the new hub is the same code, the other way round. Those of other versions are made anew.
func MoveHub(ctx context.Context, o Options, n NewHub) (*Result, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	st, old, err := begin(o)
	if err != nil {
		return nil, err
	}
	s := &removing{step: st, yes: n.Yes}
	defer s.drop()
	p := old.clone()
	a := p.find(n.Group, n.Kind)
	switch {
	case a == nil || a.External != nil || a.find(n.Hub) == nil:
		return nil, &NoAPIError{n.Group, n.Hub, n.Kind}
	case a.Hub == n.Hub:
		return nil, ErrNoChange
	}
	was := *a
	a.Hub = n.Hub
	if err := s.moveMarkers(&was, a); err != nil {
		return nil, err
	}
	if a.Conversion {
		if err := s.moveConversions(p, &was, a); err != nil {
			return nil, err
		}
	}
	s.notes = append(s.notes, migration(p, a, was.Hub))
	return s.end(ctx, p)
}

// migration says what has to be done in clusters with stored objects.
func migration(p *Project, a *API, old string) string {
	crd := a.Plural + "." + p.GroupOf(a)
	return fmt.Sprintf(`Objects that a cluster has stored stay stored as %[1]s until they are written again. Before %[1]s is removed, in each cluster:
1. Deploy this version, and wait until no replica of an older one runs.
2. Write each object once: kubectl get %[2]s --all-namespaces -o json | kubectl replace -f -
3. Tell the API server that no object is stored as %[1]s: kubectl patch crd %[2]s --subresource=status --type=merge -p '{"status":{"storedVersions":[%[3]q]}}'
4. "flyball delete api --group %[4]s --version %[1]s --kind %[5]s", and deploy that.`, old, crd, a.Hub, a.Group, a.Kind)
}

// moveMarkers moves the markers of the hub from the types of the old one to those of the new one.
func (s *removing) moveMarkers(was, now *API) error {
	from, to := typesFile(was, was.Hub), typesFile(now, now.Hub)
	for _, file := range []string{from, to} {
		text, ok := s.had(file)
		if !ok {
			return fmt.Errorf("%s is not there: it has the marker of the stored version, or gets it", file)
		}
		t, err := parseTypes(file, text)
		if err != nil {
			return err
		}
		text, err = t.withoutMarkers(now.Kind)
		if err == nil && file == to {
			marks := []string{storageMarker}
			if now.Conversion {
				marks = append(marks, conversionMarker)
			}
			if t, err = parseTypes(file, text); err == nil {
				text, err = t.withMarkers(now.Kind, marks...)
			}
		}
		if err != nil {
			return err
		}
		if err := s.write(file, text); err != nil {
			return err
		}
	}
	return nil
}

// moveConversions makes the conversions to the new hub.
func (s *removing) moveConversions(p *Project, was, now *API) error {
	hub := typesFile(now, now.Hub)
	text, ok := s.had(hub)
	if !ok {
		return fmt.Errorf("%s is not there", hub)
	}
	types, err := parseTypes(hub, text)
	if err != nil {
		return err
	}
	for i := range now.Versions {
		v := &now.Versions[i]
		sc := scene{Project: p, API: now, Version: v}
		switch v.Name {
		case now.Hub: // which has no conversion any more
			err = s.turn(p, was, now, types)
			if err == nil {
				err = s.remove(apiFile(now, v.Name, "conversion_test.go"))
			}
		case was.Hub:
			err = s.create(apiFile(now, v.Name, "conversion_test.go"), "api/conversion_test.go", sc)
		default:
			err = s.again(was, v, sc, types)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// again makes the conversion of a version that was not the hub and is not now.
func (s *removing) again(was *API, v *Version, sc scene, types *typesSource) error {
	file := apiFile(was, v.Name, "conversion.go")
	if text, ok := s.had(file); ok && !s.asMade(sc.Project, was, v.Name, text) {
		s.edited = append(s.edited, file)
	}
	made, err := types.convert(sc)
	if err != nil {
		return err
	}
	tests, err := render("api/conversion_test.go", sc)
	if err != nil {
		return err
	}
	return errors.Join(s.write(file, made), s.write(apiFile(was, v.Name, "conversion_test.go"), tests))
}

// asMade reports whether the conversion of a version is as it was made.
func (s *removing) asMade(p *Project, was *API, version string, text []byte) bool {
	hub := typesFile(was, was.Hub)
	source, _ := s.had(hub)
	t, err := parseTypes(hub, source)
	if err != nil {
		return false
	}
	made, err := t.convert(scene{Project: p, API: was, Version: was.find(version)})
	return err == nil && bytes.Equal(text, made)
}

// turn moves the conversion between the old and the new hub to the package of the old one.
func (s *removing) turn(p *Project, was, now *API, types *typesSource) error {
	from, to := apiFile(now, now.Hub, "conversion.go"), apiFile(now, was.Hub, "conversion.go")
	text, ok := s.had(from)
	if !ok {
		return fmt.Errorf("%s is not there: it has the conversion that is to be turned round", from)
	}
	moved, err := turned(from, text, was.Hub, now.Hub, now.Kind, types)
	if s.asMade(p, was, now.Hub, text) {
		moved, err = types.convert(scene{Project: p, API: now, Version: now.find(was.Hub)})
	}
	if err != nil {
		return err
	}
	if err := s.add(to, moved); err != nil {
		return err
	}
	return s.remove(from)
}

// edit is a replacement in a text.
type edit struct {
	from, to int
	text     string
}

// turned returns the file of a spoke's conversion as that of its hub: what was the hub is the spoke. The statements stay.
// The methods change receiver and parameter, and types change their package.
func turned(name string, text []byte, oldHub, newHub, kind string, types *typesSource) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	edits := []edit{{at(file.Name.Pos()), at(file.Name.End()), oldHub}}
	for _, i := range file.Imports {
		if i.Name != nil && i.Name.Name == "hub" {
			old := []byte("/" + oldHub + `"`)
			if path := []byte(i.Path.Value); bytes.HasSuffix(path, old) {
				edits = append(edits, edit{at(i.Path.Pos()), at(i.Path.End()), string(bytes.TrimSuffix(path, old)) + "/" + newHub + `"`})
			}
		}
	}
	swapped := map[ast.Node]bool{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		other := map[string]string{"ConvertTo": "ConvertFrom", "ConvertFrom": "ConvertTo"}
		if !ok || f.Recv == nil || other[f.Name.Name] == "" || len(f.Type.Params.List) != 1 {
			continue
		}
		r, h := f.Recv.List[0], f.Type.Params.List[0]
		if len(r.Names) != 1 || len(h.Names) != 1 {
			return nil, fmt.Errorf("%s: %s needs a name for its receiver and its parameter", fset.Position(f.Pos()), f.Name.Name)
		}
		swapped[f.Recv], swapped[f.Type.Params] = true, true
		edits = append(edits, edit{at(f.Recv.Pos()), at(f.Type.Params.End()), fmt.Sprintf("(%s *%s) %s(%s *hub.%s)", h.Names[0].Name, kind, other[f.Name.Name], r.Names[0].Name, kind)})
		if f.Doc != nil {
			edits = append(edits, edit{at(f.Doc.Pos()), at(f.Doc.End()), fmt.Sprintf("// %s converts between %s and the version %s that is stored.", other[f.Name.Name], oldHub, newHub)})
		}
	}
	var walk func(n ast.Node) bool
	walk = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FieldList:
			return !swapped[n]
		case *ast.SelectorExpr: // its second name is no type of the package
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "hub" {
				edits = append(edits, edit{at(n.Pos()), at(n.End()), n.Sel.Name})
			} else {
				ast.Inspect(n.X, walk)
			}
			return false
		case *ast.KeyValueExpr: // a key may be the name of a field
			if _, name := n.Key.(*ast.Ident); !name {
				ast.Inspect(n.Key, walk)
			}
			ast.Inspect(n.Value, walk)
			return false
		case *ast.Ident:
			if types.local[n.Name] != nil {
				edits = append(edits, edit{at(n.Pos()), at(n.End()), "hub." + n.Name})
			}
		}
		return true
	}
	ast.Inspect(file, walk)
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range edits {
		text = slices.Concat(text[:e.from], []byte(e.text), text[e.to:])
	}
	return format.Source(text)
}
