package generate

import (
	"fmt"
	"go/ast"
	"go/types"
	"reflect"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// conversionMarker stands on the stored version, the hub. The API server then calls the program's
// webhook to convert between it and the others.
const conversionMarker = "flyball:conversion"

// conversionWebhook is the only argument of the marker so far.
const conversionWebhook conversion = "webhook"

// conversion is the value of the marker. It applies itself, like all markers of a kind.
type conversion string

// ApplyToCRD sets the strategy. The service has the name and namespace that webhook configurations
// use; kustomize changes them together.
func (c conversion) ApplyToCRD(spec *extv1.CustomResourceDefinitionSpec, _ string) error {
	path := "/convert"
	spec.Conversion = &extv1.CustomResourceConversion{
		Strategy: extv1.WebhookConverter,
		Webhook: &extv1.WebhookConversion{
			ClientConfig: &extv1.WebhookClientConfig{Service: &extv1.ServiceReference{
				Namespace: "system", Name: "webhook-service", Path: &path,
			}},
			ConversionReviewVersions: []string{"v1"},
		},
	}
	return nil
}

// version is one version of a kind, as a Go type.
type version struct {
	name  string
	pkg   *loader.Package
	at    Position
	marks []*mark
}

// mark returns the type's first marker with that name.
func (v *version) mark(name string) *mark {
	for _, m := range v.marks {
		if m.def.Name == name {
			return m
		}
	}
	return nil
}

// kind is one kind with all its versions, oldest name first.
type kind struct {
	schema.GroupKind
	versions []*version
}

func (k *kind) String() string { return k.Kind + "." + k.Group }

// kinds finds the kinds among the parser's types. It skips types that only look like kinds, without
// a group or a marker that declares them.
func (p *project) kinds(parser *crd.Parser) ([]*kind, error) {
	metav1 := crd.FindMetav1(p.roots)
	if metav1 == nil {
		return nil, nil
	}
	byNode := map[ast.Node][]*mark{}
	for _, m := range p.marks {
		byNode[m.node] = append(byNode[m.node], m)
	}
	var problems Problems
	var out []*kind
	used := map[*mark]bool{}
	for _, gk := range crd.FindKubeKinds(parser, metav1) {
		k := &kind{GroupKind: gk}
		for _, pkg := range p.roots {
			gv, known := parser.GroupVersions[pkg]
			info := parser.LookupType(pkg, gk.Kind)
			if !known || gv.Group != gk.Group || info == nil || !isKind(info) {
				continue
			}
			v := &version{name: gv.Version, pkg: pkg, at: p.position(info.RawSpec.Pos()), marks: byNode[info.RawSpec]}
			for _, m := range v.marks {
				used[m] = true
			}
			if v.mark("kubebuilder:skipversion") != nil {
				// The generator would apply its markers to a version that does not exist.
				delete(parser.Types, crd.TypeIdent{Package: pkg, Name: gk.Kind})
				continue
			}
			if gk.Group == "" {
				if root := v.mark(rootMarker); root != nil && root.value == true {
					problems = append(problems, problemf(v.at, "", "kind %s: package %s has no marker +groupName=GROUP (or +kubebuilder:skip)", gk.Kind, pkg.Name))
				}
				continue
			}
			if !versionForm.MatchString(gv.Version) {
				problems = append(problems, problemf(v.at, "", "kind %s: package %s is not named as a Kubernetes version such as v1, v2beta1; rename it or add +versionName=VERSION", gk.Kind, pkg.Name))
			}
			k.versions = append(k.versions, v)
		}
		if len(k.versions) > 0 {
			out = append(out, k)
			problems = append(problems, p.checkKind(k)...)
		}
	}
	if err := append(problems, p.kindless(used, parser)...).err(); err != nil {
		return nil, err
	}
	return out, nil
}

// kindless rejects markers of kinds on other types.
func (p *project) kindless(used map[*mark]bool, parser *crd.Parser) (problems Problems) {
	for _, m := range p.marks {
		t, ok := m.node.(*ast.TypeSpec)
		if !ok || used[m] || parser.GroupVersions[m.pkg].Group == "" {
			continue
		}
		_, spec := m.value.(crd.SpecMarker)
		_, whole := m.value.(crd.Marker)
		_, skip := m.value.(crdmarkers.SkipVersion)
		if (spec || whole) && !skip {
			problems = append(problems, problemf(m.at, m.name(), "has no effect: %s is no kind (it does not embed metav1.TypeMeta and metav1.ObjectMeta)", t.Name.Name))
		}
	}
	return problems
}

// isKind reports whether a type embeds a type named ObjectMeta. Of several types with one name in a
// group, only those are versions of the kind.
func isKind(info *markers.TypeInfo) bool {
	for _, f := range info.Fields {
		if f.Name == "" && strings.HasSuffix(types.ExprString(f.RawField.Type), "ObjectMeta") {
			return true
		}
	}
	return false
}

// checkKind rejects versions that contradict each other.
func (p *project) checkKind(k *kind) Problems {
	var problems Problems
	var storage, converted []*version
	names := map[string]*version{}
	for _, v := range k.versions {
		if other := names[v.name]; other != nil {
			problems = append(problems, problemf(v.at, "", "%s: version %s is declared twice, also at %s", k, v.name, other.at))
		}
		names[v.name] = v
		if v.mark("kubebuilder:storageversion") != nil {
			storage = append(storage, v)
		}
		if v.mark(conversionMarker) != nil {
			converted = append(converted, v)
		}
	}
	switch {
	case len(k.versions) > 1 && len(storage) == 0:
		problems = append(problems, problemf(k.versions[0].at, "", "%s: none of the versions %s is stored; add +kubebuilder:storageversion to one", k, listed(k.versions)))
	case len(storage) > 1:
		for _, v := range storage {
			m := v.mark("kubebuilder:storageversion")
			problems = append(problems, problemf(m.at, m.name(), "%s: only one version can be stored, not all of %s", k, listed(storage)))
		}
	}
	for _, v := range converted {
		m := v.mark(conversionMarker)
		if len(k.versions) > 1 && v.mark("kubebuilder:storageversion") == nil {
			problems = append(problems, problemf(m.at, m.name(), "%s: belongs to the hub, the version with +kubebuilder:storageversion; %s is not stored", k, v.name))
		}
	}
	if len(converted) == 0 {
		for _, v := range k.versions {
			if at, ok := p.spoke(v.pkg, k.Kind); ok {
				problems = append(problems, problemf(at, "", "%s: version %s converts, but there is no hub: add +%s=%s to the stored version", k, v.name, conversionMarker, conversionWebhook))
			}
		}
	}
	return append(problems, agree(k)...)
}

// listed returns a list of versions for a sentence.
func listed(versions []*version) string {
	out := make([]string, len(versions))
	for i, v := range versions {
		out[i] = v.name
	}
	if n := len(out) - 1; n > 0 {
		return strings.Join(out[:n], ", ") + " and " + out[n]
	}
	return strings.Join(out, "")
}

// agree rejects markers about the whole kind that differ between versions: the choice between them
// would be random.
func agree(k *kind) Problems {
	var problems Problems
	var resource *mark
	metadata := map[string]*mark{}
	for _, v := range k.versions {
		for _, m := range v.marks {
			switch value := m.value.(type) {
			case crdmarkers.Resource:
				if resource != nil && !reflect.DeepEqual(resource.value, m.value) {
					problems = append(problems, problemf(m.at, m.name(), "%s: differs from the one at %s; give it on one version only", k, resource.at))
				}
				resource = m
			case crdmarkers.Metadata:
				for what, list := range map[string][]string{"annotation": value.Annotations, "label": value.Labels} {
					for _, pair := range list {
						key, text, ok := strings.Cut(pair, "=")
						if !ok {
							problems = append(problems, problemf(m.at, m.name(), "%s %q: must be key=value", what, pair))
							continue
						}
						id := what + " " + key
						if before := metadata[id]; before != nil && !strings.Contains(before.text, key+"="+text) {
							problems = append(problems, problemf(m.at, m.name(), "%s: %s differs from the one at %s", k, id, before.at))
						}
						metadata[id] = m
					}
				}
			}
		}
	}
	return problems
}

// spoke finds the method that makes a type a spoke of a conversion hub.
func (p *project) spoke(pkg *loader.Package, name string) (Position, bool) {
	for _, file := range pkg.Syntax {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || len(f.Recv.List) != 1 || f.Name.Name != "ConvertTo" {
				continue
			}
			if fmt.Sprintf("*%s", name) == types.ExprString(f.Recv.List[0].Type) {
				return p.position(f.Name.Pos()), true
			}
		}
	}
	return Position{}, false
}
