package generate

import (
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/webhook"
)

// mark is one marker in the code.
type mark struct {
	pkg   *loader.Package
	at    Position // of the plus sign
	text  string   // with the plus sign and all arguments
	def   *markers.Definition
	node  ast.Node // the described node: a file (for its package), a type or a field
	value any      // the value from controller-tools
}

// name returns the marker without its arguments, as problems show it.
func (m *mark) name() string { return "+" + m.def.Name }

// newRegistry returns a registry of all markers: those of controller-tools' generators, and
// Flyball's own.
func newRegistry() (*markers.Registry, error) {
	r := &markers.Registry{}
	for _, register := range []func(*markers.Registry) error{
		crdmarkers.Register,
		deepcopy.Generator{}.RegisterMarkers,
		rbac.Generator{}.RegisterMarkers,
		webhook.Generator{}.RegisterMarkers,
	} {
		if err := register(r); err != nil {
			return nil, err
		}
	}
	if err := defineApply(r); err != nil {
		return nil, err
	}
	return r, r.Define(conversionMarker, markers.DescribesType, conversion(""))
}

// ownPrefix begins the markers that no other generator knows.
const ownPrefix = "flyball:"

// others are prefixes of markers for other tools.
var others = []string{"kubebuilder:scaffold", "kubebuilder:docs-gen", "flyball:scaffold"}

var targets = []markers.TargetType{markers.DescribesPackage, markers.DescribesType, markers.DescribesField}

// readMarkers finds and parses every marker, and stores the valid ones in p.marks. It reports those with wrong
// arguments. It warns of a marker that is unknown or stands where it has no effect: the generators ignore it silently.
// A +flyball: one is reported. Unknown markers of other prefixes belong to other tools.
func (p *project) readMarkers() (Problems, error) {
	registry, err := newRegistry()
	if err != nil {
		return nil, err
	}
	p.collector = &markers.Collector{Registry: registry}
	var problems Problems
	for _, pkg := range p.roots {
		found, unsure, err := p.place(registry, pkg)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			m.def = registry.Lookup(m.text, targetOf(m.node))
			if m.value, err = m.def.Parse(m.text); err != nil {
				problems = append(problems, problemf(m.at, m.name(), "%s", reason(err)))
				continue
			}
			p.marks = append(p.marks, m)
		}
		for _, m := range unsure {
			switch name, why := complaint(registry, m.text); {
			case strings.HasPrefix(name, "+"+ownPrefix):
				problems = append(problems, problemf(m.at, name, "%s", why))
			case why != "":
				p.warn(m.at, name, "%s", why)
			}
		}
	}
	return problems, nil
}

func targetOf(n ast.Node) markers.TargetType {
	switch n.(type) {
	case *ast.File:
		return markers.DescribesPackage
	case *ast.Field:
		return markers.DescribesField
	}
	return markers.DescribesType
}

// place returns the node that each marker of a package describes, with the generators' own code. It
// runs their collector over comments whose arguments are replaced by a number, with definitions
// that return the number. Only the name decides which comment describes which node. Markers that
// the collector ignores are unsure.
func (p *project) place(registry *markers.Registry, pkg *loader.Package) (found, unsure []*mark, err error) {
	probes := &markers.Registry{}
	for _, d := range registry.AllDefinitions() {
		if err := probes.Register(&markers.Definition{Name: d.Name, Target: d.Target, Output: reflect.TypeFor[probe]()}); err != nil {
			return nil, nil, err
		}
	}
	var all []*mark
	examples := map[*mark]bool{}
	restore := map[*ast.Comment]string{}
	defer func() {
		for c, text := range restore {
			c.Text = text
		}
	}()
	for _, file := range pkg.Syntax {
		for _, group := range file.Comments {
			for _, c := range group.List {
				text, ok := markerText(c)
				if !ok {
					continue
				}
				m := &mark{pkg: pkg, text: text, at: p.position(c.Pos())}
				m.at.Column += strings.IndexByte(c.Text, '+')
				examples[m] = isExample(c.Text)
				restore[c] = c.Text
				name, _, _ := strings.Cut(text, "=")
				c.Text = "//" + name + "=" + strconv.Itoa(len(all))
				all = append(all, m)
			}
		}
	}
	nodes, err := (&markers.Collector{Registry: probes}).MarkersInPackage(pkg)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", pkg.PkgPath, err)
	}
	for node, values := range nodes {
		for _, list := range values {
			for _, v := range list {
				m := all[v.(probe)]
				m.node = node
			}
		}
	}
	for _, m := range all {
		switch {
		case m.node != nil && registry.Lookup(m.text, targetOf(m.node)) != nil:
			found = append(found, m)
		case !examples[m]:
			unsure = append(unsure, m)
		}
	}
	return found, unsure, nil
}

// probe is the number of a marker.
type probe int

// ParseMarker is called by [markers.Definition.Parse] instead of its own parser.
func (p *probe) ParseMarker(_, _, arguments string) error {
	n, err := strconv.Atoi(arguments)
	*p = probe(n)
	return err
}

// markerText returns the marker in a comment, from its plus sign on.
func markerText(c *ast.Comment) (string, bool) {
	text, ok := strings.CutPrefix(c.Text, "//")
	text = strings.TrimSpace(text)
	return text, ok && len(text) > 1 && text[0] == '+'
}

// isExample reports whether a comment is indented, like code inside documentation.
func isExample(comment string) bool {
	return strings.HasPrefix(comment, "//\t") || strings.HasPrefix(comment, "//  ")
}

// complaint returns the reason why a marker has no effect, and the name that it would have. The
// reason is "" for markers of other tools.
func complaint(registry *markers.Registry, text string) (marker, why string) {
	name, _, _ := strings.Cut(text[1:], "=")
	marker = "+" + name
	var where []string
	for _, t := range targets {
		if d := registry.Lookup(text, t); d != nil {
			marker = "+" + d.Name
			where = append(where, t.String())
		}
	}
	switch {
	case slices.Contains(where, markers.DescribesPackage.String()):
		return marker, "has no effect in the comment of a declaration: it describes the package; leave an empty line between them"
	case len(where) > 0:
		return marker, "has no effect here: it describes a " + strings.Join(where, " or a ") + " and belongs into its comment or directly above it"
	case slices.ContainsFunc(others, func(o string) bool { return name == o || strings.HasPrefix(name, o+":") }):
		return marker, ""
	}
	ours := strings.HasPrefix(name, "kubebuilder:") || strings.HasPrefix(name, ownPrefix)
	best, edits := nearest(registry, name)
	switch {
	case best != "" && (ours || edits == 0):
		return marker, "unknown marker; did you mean +" + best + "?"
	case ours:
		return marker, "unknown marker"
	}
	return marker, ""
}

// nearest returns the known marker most similar to name, and the number of differing letters
// without regard to case. It returns "" if none is similar.
func nearest(registry *markers.Registry, name string) (best string, edits int) {
	forms := []string{name}
	for s := name; strings.Contains(s, ":"); {
		s = s[:strings.LastIndexByte(s, ':')]
		forms = append(forms, s)
	}
	edits = 4
	for _, d := range registry.AllDefinitions() {
		for i, form := range forms {
			if i > 0 && (d.AnonymousField() || d.Empty()) {
				break // it takes no named arguments that could follow
			}
			n := distance(strings.ToLower(form), strings.ToLower(d.Name))
			if n < edits || n == edits && best != "" && d.Name < best {
				best, edits = d.Name, n
			}
		}
	}
	return best, edits
}

// distance returns the smallest number of letters to add, drop or change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
