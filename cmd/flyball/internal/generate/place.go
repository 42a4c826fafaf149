package generate

import (
	"errors"
	"go/ast"
	"go/types"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/flyball-io/flyball/internal/gofield"
)

// accept has a definition checked by the API server, if there is one. Each cause of a rejection is a problem at the
// marker, the field or the type that it comes from.
func (p *project) accept(parser *crd.Parser, k *kind, d *extv1.CustomResourceDefinition) (Problems, error) {
	if p.Accept == nil {
		return nil, nil
	}
	err := p.Accept(p.ctx, d)
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) || status.Status().Details == nil {
		return nil, err
	}
	var problems Problems
	for _, cause := range status.Status().Details.Causes {
		at := p.placeOf(parser, k, d, cause.Field)
		message := "the API server rejects this: " + cause.Message
		if name := at.name(); name != "" {
			message = name + ": " + message
		}
		if strings.HasPrefix(cause.Field, "metadata") { // what kustomize adds
			p.warn(at.position, at.marker, "%s", message)
			continue
		}
		problems = append(problems, p.rejected(problemf(at.position, at.marker, "%s", message))...)
	}
	if len(status.Status().Details.Causes) == 0 {
		problems = p.rejected(problemf(k.versions[0].at, "", "%s: the API server rejects this: %v", k, err))
	}
	return problems, nil
}

// place is where a part of a definition comes from.
type place struct {
	position   Position
	marker     string // with its plus sign; "" if it is no marker
	kind, path string // the type, and the field in it as users of the API write it
}

func (a place) name() string { return strings.Trim(a.kind+a.path, " ") }

// segment matches a step of a field's path, as the API server writes them: name, name[key] or name[0].
var segment = regexp.MustCompile(`^\.?([^.\[\]]+)?(?:\[([^\]]*)\])?`)

// steps splits a path into names and keys.
func steps(path string) (out [][2]string) {
	for path != "" {
		m := segment.FindStringSubmatch(path)
		if m == nil || m[0] == "" {
			return out
		}
		out, path = append(out, [2]string{m[1], m[2]}), path[len(m[0]):]
	}
	return out
}

// walk follows a path of a schema through the Go types.
type walk struct {
	*project
	parser *crd.Parser
	types  map[string]known // by the path of the package and the name
	byNode map[ast.Node][]*mark
	marks  []*mark // of the field and its types
	node   ast.Node
	goType types.Type
	path   string
}

// known is a type that the parser knows.
type known struct {
	*markers.TypeInfo
	pkg *loader.Package
}

// placeOf returns the place of a field of a definition.
func (p *project) placeOf(parser *crd.Parser, k *kind, d *extv1.CustomResourceDefinition, field string) place {
	v := k.versions[0]
	path := steps(strings.TrimPrefix(field, "spec."))
	if len(path) > 0 && path[0][0] == "versions" {
		if i, err := strconv.Atoi(path[0][1]); err == nil && i < len(d.Spec.Versions) {
			v = k.version(d.Spec.Versions[i].Name)
		}
		path = path[1:]
	}
	at := place{position: v.at, kind: k.String() + " " + v.name + " "}
	info := parser.LookupType(v.pkg, k.Kind)
	if info == nil || len(path) == 0 {
		return at
	}
	if len(path) > 1 && (path[0][0] == "schema" || path[0][0] == "validation") {
		w := p.newWalk(parser, v, info)
		props := schemaOf(d, v.name)
		rest := w.follow(path[2:], &props)
		at.position, at.path = p.position(w.node.Pos()), w.path
		if m := w.blame(rest, props); m != nil {
			at.position, at.marker = m.at, m.name()
		}
		return at
	}
	if m := outside(v.marks, path); m != nil {
		at.position, at.marker = m.at, m.name()
	}
	return at
}

// version returns the version of a name.
func (k *kind) version(name string) *version {
	for _, v := range k.versions {
		if v.name == name {
			return v
		}
	}
	return k.versions[0]
}

// schemaOf returns the schema of a version.
func schemaOf(d *extv1.CustomResourceDefinition, version string) extv1.JSONSchemaProps {
	for _, v := range d.Spec.Versions {
		if v.Name == version && v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			return *v.Schema.OpenAPIV3Schema
		}
	}
	return extv1.JSONSchemaProps{}
}

func (p *project) newWalk(parser *crd.Parser, v *version, info *markers.TypeInfo) *walk {
	w := &walk{project: p, parser: parser, types: map[string]known{}, byNode: map[ast.Node][]*mark{}, marks: v.marks, node: info.RawSpec}
	for id, info := range parser.Types {
		w.types[id.Package.PkgPath+"."+id.Name] = known{info, id.Package}
	}
	for _, m := range p.marks {
		w.byNode[m.node] = append(w.byNode[m.node], m)
	}
	w.goType = v.pkg.TypesInfo.TypeOf(info.RawSpec.Name)
	return w
}

// follow goes as far as the Go types go, and returns the rest of the path. props becomes the schema there.
func (w *walk) follow(path [][2]string, props *extv1.JSONSchemaProps) [][2]string {
	for len(path) > 0 {
		switch name, key := path[0][0], path[0][1]; name {
		case "properties":
			if !w.field(key) {
				return path
			}
			*props = props.Properties[key]
		case "items":
			w.element("[]")
			if props.Items != nil && props.Items.Schema != nil {
				*props = *props.Items.Schema
			}
		case "additionalProperties":
			w.element("{}")
			if props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil {
				*props = *props.AdditionalProperties.Schema
			}
		default:
			return path
		}
		path = path[1:]
	}
	return nil
}

// element goes to the element of a list or map. Markers of the field stay: some are about the elements.
func (w *walk) element(suffix string) {
	w.path += suffix
	if w.goType == nil {
		return
	}
	t := w.goType
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	switch t := t.Underlying().(type) {
	case *types.Slice:
		w.goType = t.Elem()
	case *types.Map:
		w.goType = t.Elem()
	default:
		w.goType = nil
	}
	w.marks = append(w.marks[:len(w.marks):len(w.marks)], w.typeMarks()...)
}

// field goes to a field of a struct by the name that it has in JSON.
func (w *walk) field(name string) bool {
	f, of := w.find(w.goType, name, 0)
	if f == nil {
		return false
	}
	w.path += "." + name
	w.node, w.goType = f.RawField, of
	w.marks = append(w.byNode[f.RawField][:len(w.byNode[f.RawField]):len(w.byNode[f.RawField])], w.typeMarks()...)
	return true
}

// find looks for a field, also in embedded structs.
func (w *walk) find(t types.Type, name string, depth int) (*markers.FieldInfo, types.Type) {
	const deepest = 20 // an embedded type may be recursive
	info, s := w.info(t), structOf(t)
	if info.TypeInfo == nil || s == nil || depth > deepest {
		return nil, nil
	}
	if _, declared := info.RawSpec.Type.(*ast.StructType); !declared { // as another type
		return w.find(info.pkg.TypesInfo.TypeOf(info.RawSpec.Type), name, depth+1)
	}
	byNode := map[string]types.Type{}
	for i := range s.NumFields() {
		byNode[s.Field(i).Name()] = s.Field(i).Type()
	}
	for i := range info.Fields {
		f := &info.Fields[i]
		tag := gofield.TagOf(f.Tag)
		goName := f.Name
		if goName == "" {
			goName = lastName(types.ExprString(f.RawField.Type))
		}
		of := byNode[goName]
		switch {
		case tag.Name == name:
			return f, of
		case tag.Name == "" && (f.Name == "" || tag.Inline):
			if found, at := w.find(of, name, depth+1); found != nil {
				return found, at
			}
		}
	}
	return nil, nil
}

// lastName returns the name of an embedded field of a type.
func lastName(expr string) string {
	expr = strings.TrimPrefix(expr, "*")
	return expr[strings.LastIndexByte(expr, '.')+1:]
}

func structOf(t types.Type) *types.Struct {
	if t == nil {
		return nil
	}
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	s, _ := t.Underlying().(*types.Struct)
	return s
}

// info returns what the parser knows of a named type.
func (w *walk) info(t types.Type) known {
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return known{}
	}
	return w.types[named.Obj().Pkg().Path()+"."+named.Obj().Name()]
}

// typeMarks returns the markers of the type itself.
func (w *walk) typeMarks() []*mark {
	if info := w.info(w.goType); info.TypeInfo != nil {
		return w.byNode[info.RawSpec]
	}
	return nil
}

// blame returns the marker of the keyword in the rest of a path.
func (w *walk) blame(rest [][2]string, props extv1.JSONSchemaProps) *mark {
	if len(rest) == 0 {
		return nil
	}
	keyword, rule := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(rest[0][0], "x-kubernetes-"), "-", "")), ""
	if i, err := strconv.Atoi(rest[0][1]); err == nil && keyword == "validations" && i < len(props.XValidations) {
		rule = props.XValidations[i].Rule
	}
	var list *mark
	for _, m := range w.marks {
		if v, ok := m.value.(crdmarkers.XValidation); ok && keyword == "validations" && v.Rule == rule {
			return m
		}
		last := strings.ToLower(m.def.Name[strings.LastIndexByte(m.def.Name, ':')+1:])
		if keyword != "validations" && (strings.HasPrefix(keyword, last) || strings.HasPrefix(last, keyword)) {
			return m
		}
		if last == "listtype" && keyword == "listmapkeys" { // it asks for keys, and there are none
			list = m
		}
	}
	return list
}

// outside returns the marker of a part of a definition that is outside of its schemas.
func outside(marks []*mark, path [][2]string) *mark {
	n, _ := strconv.Atoi(path[0][1])
	var value reflect.Type
	switch path[0][0] {
	case "additionalPrinterColumns":
		value = reflect.TypeFor[crdmarkers.PrintColumn]()
	case "selectableFields":
		value = reflect.TypeFor[crdmarkers.SelectableField]()
	case "subresources":
		value, n = reflect.TypeFor[crdmarkers.SubresourceScale](), 0
	case "names", "scope":
		value, n = reflect.TypeFor[crdmarkers.Resource](), 0
	case "conversion":
		value, n = reflect.TypeFor[conversion](), 0
	}
	for _, m := range marks {
		if reflect.TypeOf(m.value) != value {
			continue
		}
		if n == 0 {
			return m
		}
		n--
	}
	return nil
}
