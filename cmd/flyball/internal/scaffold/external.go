package scaffold

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyball-io/flyball/scheme"
)

// ScopeError says that a namespaced project is to have a kind that is not in namespaces.
type ScopeError struct{ Kind string }

func (e *ScopeError) Error() string {
	return fmt.Sprintf("the objects of %s are in no namespace, and the project is namespaced: its program may read one namespace only (see \"flyball edit --namespaced=false\")", e.Kind)
}

// NewExternal says where a kind comes from that others define. The zero value means Kubernetes.
type NewExternal struct {
	// Path is the import path of the package with the Go type, and with AddToScheme.
	Path string
	// Domain is the suffix of the group. Empty means that the group is whole.
	Domain string
	// Module is the module of the package and its version, as "go get" takes them. Empty means what
	// go.mod has, or else the latest.
	Module string
}

// check rejects what can only be a mistake.
func (n *NewExternal) check() error {
	switch {
	case n.Path == "" && (n.Domain != "" || n.Module != ""):
		return errors.New("--external-api-domain and --external-api-module are for --external-api-path")
	case n.Path == "":
		return nil
	}
	if err := module.CheckImportPath(n.Path); err != nil {
		return fmt.Errorf("--external-api-path %q: must be the import path of a Go package: %w", n.Path, err)
	}
	if n.Domain != "" && len(validation.IsDNS1123Subdomain(n.Domain)) > 0 {
		return fmt.Errorf("--external-api-domain %q: must be a DNS name in lower case, such as cert-manager.io", n.Domain)
	}
	if n.Module == "" {
		return nil
	}
	mod, version, _ := strings.Cut(n.Module, "@")
	if err := module.CheckImportPath(mod); err != nil || version == "" {
		return fmt.Errorf("--external-api-module %q: must be a module and its version, such as example.com/operator@v1.2.3", n.Module)
	}
	if n.Path != mod && !strings.HasPrefix(n.Path, mod+"/") {
		return fmt.Errorf("--external-api-module %q: does not contain the package %s of --external-api-path", n.Module, n.Path)
	}
	return nil
}

// checkNames rejects invalid names of a kind. Groups of others may have dots.
func (n *NewExternal) checkNames(group, version, kind string) error {
	err := errors.Join(n.check(), checkVersion(version), checkKind(kind))
	if n.Path == "" && shortGroup(group) == "" {
		return errors.Join(checkGroup(group, ""), err)
	}
	return errors.Join(checkAnyGroup(group), err)
}

func checkAnyGroup(group string) error {
	if len(validation.IsDNS1123Subdomain(group)) > 0 {
		return fmt.Errorf("group %q: must be the name of an API group, such as apps or cert-manager", group)
	}
	return nil
}

// checkGroupOf rejects an invalid group of an API.
func (p *Project) checkGroupOf(a *API) error {
	e := a.External
	if e == nil {
		return checkGroup(a.Group, p.Domain)
	}
	if err := module.CheckImportPath(e.Path); err != nil {
		return fmt.Errorf("external path %q: must be the import path of a Go package: %w", e.Path, err)
	}
	if err := checkAnyGroup(a.Group); err != nil {
		return err
	}
	switch {
	case e.Group == "" && a.Group != "core":
		return fmt.Errorf("the apiGroup of %s, which others define, is empty", a.Kind)
	case e.Group != "" && checkAnyGroup(e.Group) != nil:
		return checkAnyGroup(e.Group)
	case len(a.Versions) > 1:
		return fmt.Errorf("%s, which others define, has more than one version", a.Kind)
	case a.Conversion:
		return fmt.Errorf("%s, which others define, has a conversion webhook", a.Kind)
	}
	return nil
}

// groupName names an API group for people.
func groupName(group string) string {
	if group == "" {
		return "the core group"
	}
	return group
}

// UnknownKindError says that Kubernetes does not have a kind.
type UnknownKindError struct {
	Group, Version, Kind string
	// Known are the kinds of the group and version. If there are none, Versions are the versions of
	// the group.
	Known, Versions []string
}

func (e *UnknownKindError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("version %q: the group %s of Kubernetes has the stable versions %s; give another by --external-api-path", e.Version, e.Group, strings.Join(e.Versions, ", "))
	}
	return fmt.Sprintf("kind %q: Kubernetes has no such kind in %s/%s, but %s", e.Kind, e.Group, e.Version, strings.Join(e.Known, ", "))
}

// builtinKind is a kind of Kubernetes.
type builtinKind struct {
	schema.GroupVersionKind
	// short is the group as in the path of the Go package.
	short, path string
}

// builtinKinds returns the kinds of Kubernetes in their stable versions, sorted.
var builtinKinds = sync.OnceValue(func() []builtinKind {
	known := scheme.New().AllKnownTypes()
	object := reflect.TypeFor[metav1.Object]()
	var out []builtinKind
	for gvk, t := range known {
		_, list := known[gvk.GroupVersion().WithKind(gvk.Kind+"List")]
		if list && strings.HasPrefix(t.PkgPath(), "k8s.io/api/") && reflect.PointerTo(t).Implements(object) {
			out = append(out, builtinKind{gvk, path.Base(path.Dir(t.PkgPath())), t.PkgPath()})
		}
	}
	slices.SortFunc(out, func(a, b builtinKind) int { return strings.Compare(a.String(), b.String()) })
	return out
})

// inNoNamespace are the kinds of Kubernetes whose objects are in no namespace.
var inNoNamespace = map[string]bool{
	"APIService": true, "CSIDriver": true, "CSINode": true, "CertificateSigningRequest": true, "ClusterRole": true, "ClusterRoleBinding": true,
	"ComponentStatus": true, "DeviceClass": true, "FlowSchema": true, "IPAddress": true, "IngressClass": true,
	"MutatingAdmissionPolicy": true, "MutatingAdmissionPolicyBinding": true, "MutatingWebhookConfiguration": true, "Namespace": true, "Node": true,
	"PersistentVolume": true, "PriorityClass": true, "PriorityLevelConfiguration": true, "ResourceSlice": true, "RuntimeClass": true, "ServiceCIDR": true,
	"StorageClass": true, "ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true, "ValidatingWebhookConfiguration": true,
	"VolumeAttachment": true, "VolumeAttributesClass": true,
}

// api returns the kind as a part of a project.
func (k builtinKind) api() *API {
	plural, _ := meta.UnsafeGuessKindToResource(k.GroupVersionKind)
	return &API{
		Group: k.short, Kind: k.Kind, Plural: plural.Resource, Namespaced: !inNoNamespace[k.Kind],
		External: &External{Path: k.path, Group: k.Group},
		Hub:      k.Version, Versions: []Version{{Name: k.Version}},
	}
}

// shortGroup returns the short name of a group of Kubernetes, or "". The group may be given as in
// the path of its Go package (core, apps, rbac), or by its name with or without ".k8s.io".
func shortGroup(group string) string {
	for _, k := range builtinKinds() {
		if group == k.short || group != "" && (group == k.Group || group+".k8s.io" == k.Group) {
			return k.short
		}
	}
	return ""
}

// builtin returns a kind of Kubernetes. It is nil if the group is none of Kubernetes. The error is
// an *UnknownKindError.
func builtin(group, version, kind string) (*API, error) {
	short := shortGroup(group)
	if short == "" {
		return nil, nil
	}
	e := &UnknownKindError{Group: short, Version: version, Kind: kind}
	for _, k := range builtinKinds() {
		switch {
		case k.short != short:
		case k.Version == version && k.Kind == kind:
			return k.api(), nil
		case k.Version == version:
			e.Known = append(e.Known, k.Kind)
		case !slices.Contains(e.Versions, k.Version):
			e.Versions = append(e.Versions, k.Version)
		}
	}
	return nil, e
}

// external returns a kind that others define and the project does not have yet. It is nil if the
// group is neither one of Kubernetes nor given by its path.
func (n *NewExternal) external(group, version, kind, plural string, namespaced *bool) (*API, error) {
	if n.Path == "" {
		a, err := builtin(group, version, kind)
		if a != nil && (plural != "" && plural != a.Plural || namespaced != nil && *namespaced != a.Namespaced) {
			return nil, fmt.Errorf("%s is a kind of Kubernetes with the plural %s and namespaced %t", kind, a.Plural, a.Namespaced)
		}
		return a, err
	}
	a := &API{Group: group, Kind: kind, Plural: plural, Namespaced: namespaced == nil || *namespaced, External: &External{Path: n.Path, Group: group}, Hub: version, Versions: []Version{{Name: version}}}
	if plural == "" {
		a.Plural = pluralOf(kind)
	}
	if n.Domain != "" {
		a.External.Group = group + "." + n.Domain
	}
	return a, nil
}

// InScheme reports whether package scheme of Flyball has the Go type of a kind that others define.
func (a *API) InScheme() bool {
	return a.External != nil && slices.ContainsFunc(builtinKinds(), func(k builtinKind) bool {
		return k.path == a.External.Path && k.Kind == a.Kind && k.Version == a.Hub
	})
}

// GroupOf returns the complete name of a kind's API group. It is empty for the core group.
func (p *Project) GroupOf(a *API) string {
	if a.External != nil {
		return a.External.Group
	}
	return p.FullGroup(a.Group)
}

// OwnAPIs returns the kinds that the project defines.
func (p *Project) OwnAPIs() []API {
	return slices.DeleteFunc(slices.Clone(p.APIs), func(a API) bool { return a.External != nil })
}

// ExternalPackages returns the packages with kinds that others define. Package scheme of Flyball
// has none of them.
func (p *Project) ExternalPackages() []Package {
	var out []Package
	for _, a := range p.APIs {
		if a.External == nil || a.InScheme() {
			continue
		}
		x := Package{Group: a.Group, Version: a.Hub, Path: a.External.Path}
		if !slices.ContainsFunc(out, func(b Package) bool { return b.Path == x.Path }) {
			out = append(out, x)
		}
	}
	return out
}
