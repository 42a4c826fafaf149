package generate

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// conversionMarker stands on the stored version, the hub. The API server then calls the program's
// webhook to convert between it and the others.
const conversionMarker = "flyball:conversion"

// versionMarker gives a package its API version. Default: the name of the package.
const versionMarker = "versionName"

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
	converts bool // a version has the method, and no marker
}

func (k *kind) String() string { return k.Kind + "." + k.Group }

// kinds finds the kinds among the parser's types. A type of a kind's name in its group is a version of it, as it is
// for the generator. Kinds without a group are left out.
func (p *project) kinds(parser *crd.Parser) ([]*kind, error) {
	metav1 := crd.FindMetav1(p.roots)
	if metav1 == nil {
		return nil, nil
	}
	byNode := map[ast.Node][]*mark{}
	names := map[*loader.Package]map[string]*mark{}
	for _, m := range p.marks {
		byNode[m.node] = append(byNode[m.node], m)
		if _, ok := m.node.(*ast.File); ok && (m.def.Name == groupMarker || m.def.Name == versionMarker) {
			if names[m.pkg] == nil {
				names[m.pkg] = map[string]*mark{}
			}
			names[m.pkg][m.def.Name] = m
		}
	}
	var problems Problems
	var out []*kind
	used := map[*mark]bool{}
	for _, gk := range crd.FindKubeKinds(parser, metav1) {
		k := &kind{GroupKind: gk}
		for _, pkg := range p.roots {
			gv, known := parser.GroupVersions[pkg]
			info := parser.LookupType(pkg, gk.Kind)
			if !known || gv.Group != gk.Group || info == nil {
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
					p.warn(v.at, "", "kind %s has no CRD: package %s has no marker +groupName=GROUP (or +kubebuilder:skip)", gk.Kind, pkg.Name)
				}
				continue
			}
			problems = append(problems, p.checkNames(v, gv, names[pkg])...)
			k.versions = append(k.versions, v)
		}
		if len(k.versions) > 0 {
			out = append(out, k)
			problems = append(problems, p.checkKind(k)...)
		}
	}
	p.warnKindless(used, parser)
	return out, problems.err()
}

// checkNames rejects a group or a version that the API server rejects. It warns of one that it cannot order by age.
func (p *project) checkNames(v *version, gv schema.GroupVersion, marks map[string]*mark) (problems Problems) {
	if m := marks[groupMarker]; m != nil {
		for _, why := range validation.IsDNS1123Subdomain(gv.Group) {
			problems = append(problems, p.rejected(problemf(m.at, m.name(), "%s", why))...)
		}
	}
	if versionForm.MatchString(gv.Version) {
		return problems
	}
	at, name, where := v.at, "", "package "+v.pkg.Name
	if m := marks[versionMarker]; m != nil {
		at, name, where = m.at, m.name(), gv.Version
	}
	for _, why := range validation.IsDNS1035Label(gv.Version) {
		return append(problems, p.rejected(problemf(at, name, "%s is not named as a version can be: %s; add +%s=VERSION", where, why, versionMarker))...)
	}
	p.warn(at, name, "%s is not named as a Kubernetes version such as v1, v2beta1: clients prefer any version that is", where)
	return problems
}

// warnKindless warns of markers of kinds on other types.
func (p *project) warnKindless(used map[*mark]bool, parser *crd.Parser) {
	for _, m := range p.marks {
		t, ok := m.node.(*ast.TypeSpec)
		if !ok || used[m] || parser.GroupVersions[m.pkg].Group == "" {
			continue
		}
		_, spec := m.value.(crd.SpecMarker)
		_, whole := m.value.(crd.Marker)
		_, skip := m.value.(crdmarkers.SkipVersion)
		if (spec || whole) && !skip {
			p.warn(m.at, m.name(), "has no effect: %s is no kind (it does not embed metav1.TypeMeta and metav1.ObjectMeta)", t.Name.Name)
		}
	}
}

// checkKind rejects versions that contradict each other, if the API server would reject them. It warns of others.
func (p *project) checkKind(k *kind) Problems {
	var problems Problems
	var storage, converted []*version
	names := map[string]*version{}
	for _, v := range k.versions {
		if other := names[v.name]; other != nil {
			problems = append(problems, p.rejected(problemf(v.at, "", "%s: version %s is declared twice, also at %s", k, v.name, other.at))...)
		}
		names[v.name] = v
		if v.mark(storageMarker) != nil {
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
			m := v.mark(storageMarker)
			problems = append(problems, p.rejected(problemf(m.at, m.name(), "%s: only one version can be stored, not all of %s", k, listed(storage)))...)
		}
	}
	for _, v := range converted {
		m := v.mark(conversionMarker)
		if len(k.versions) > 1 && v.mark(storageMarker) == nil {
			problems = append(problems, problemf(m.at, m.name(), "%s: belongs to the hub, the version with +kubebuilder:storageversion; %s is not stored", k, v.name))
		}
	}
	if len(converted) == 0 {
		for _, v := range k.versions {
			if at, ok := p.spoke(v.pkg, k.Kind); ok {
				k.converts = true
				p.warn(at, "", "%s: version %s converts, but the CRD has no conversion: add +%s=%s to the stored version, or patch the CRD", k, v.name, conversionMarker, conversionWebhook)
			}
		}
	}
	return append(problems, p.agree(k)...)
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
