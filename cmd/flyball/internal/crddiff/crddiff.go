// Package crddiff reports the changes between two sets of CustomResourceDefinitions, and which of
// them are breaking. A breaking change affects a client that sends formerly valid objects, a client
// that reads formerly guaranteed fields, or stored objects.
//
//	OLD, NEW ──Read──► Set (by name) ──Diff──► names, scope, versions ─► schemas, field by field
//	                                                    └──────────┬──────────┘
//	                                                               ▼
//	                                                           []Change
//
// Everything that was allowed must stay allowed, and everything that was guaranteed must stay
// guaranteed; more of both is compatible. Descriptions and examples are not compared.
package crddiff

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Change is one difference.
type Change struct {
	Breaking bool   `json:"breaking"`
	CRD      string `json:"crd"`               // its name, PLURAL.GROUP
	Version  string `json:"version,omitempty"` // "" if it concerns all versions
	Path     string `json:"path,omitempty"`    // of the field, such as .spec.lines[].size; "." is the object itself
	Message  string `json:"message"`
}

// String returns "breaking: orders.shop.example.com v1 .spec.size: maximum 10 → 5".
func (c Change) String() string {
	kind := "compatible:"
	if c.Breaking {
		kind = "breaking:"
	}
	where := make([]string, 0, 4)
	for _, s := range []string{kind, c.CRD, c.Version, c.Path} {
		if s != "" {
			where = append(where, s)
		}
	}
	return strings.Join(where, " ") + ": " + c.Message
}

// Diff compares two sets. The changes are sorted by the names of the CRDs, those of a CRD as a
// whole before those of its versions, and fields by name. The order is deterministic.
func Diff(older, newer Set) []Change {
	var out []Change
	renamed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(older)) {
		o := older[name]
		d := &differ{crd: name}
		if n, ok := newer[name]; ok {
			d.definition(&o.CRD, &n.CRD)
		} else if to := renaming(o, older, newer); to != nil {
			renamed[to.CRD.Name] = true
			d.names(&o.CRD, &to.CRD)
		} else {
			d.breaking("the CRD is gone")
		}
		out = append(out, d.changes...)
	}
	for _, name := range slices.Sorted(maps.Keys(newer)) {
		if _, ok := older[name]; !ok && !renamed[name] {
			out = append(out, Change{CRD: name, Message: "a new CRD"})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.CRD, b.CRD) })
	return out
}

// renaming finds the new name of a missing CRD: a new CRD that differs from it only in the group or
// the plural.
func renaming(o *Definition, older, newer Set) *Definition {
	for _, name := range slices.Sorted(maps.Keys(newer)) {
		n := newer[name]
		if _, both := older[name]; both || o.CRD.Spec.Names.Kind != n.CRD.Spec.Names.Kind {
			continue
		}
		if o.CRD.Spec.Group == n.CRD.Spec.Group || o.CRD.Spec.Names.Plural == n.CRD.Spec.Names.Plural {
			return n
		}
	}
	return nil
}

// differ collects the changes of one CRD. Its methods are called for one version after the other.
type differ struct {
	crd     string
	version string
	path    string
	changes []Change
}

func (d *differ) add(breaking bool, format string, args ...any) {
	d.changes = append(d.changes, Change{Breaking: breaking, CRD: d.crd, Version: d.version, Path: d.path, Message: fmt.Sprintf(format, args...)})
}

func (d *differ) breaking(format string, args ...any)   { d.add(true, format, args...) }
func (d *differ) compatible(format string, args ...any) { d.add(false, format, args...) }

// changed records a changed value.
func (d *differ) changed(breaking bool, what string, o, n any) {
	if !reflect.DeepEqual(o, n) {
		d.add(breaking, "%s %v → %v", what, o, n)
	}
}

func (d *differ) definition(o, n *extv1.CustomResourceDefinition) {
	d.names(o, n)
	d.changed(true, "scope", o.Spec.Scope, n.Spec.Scope)
	switch {
	case o.Spec.PreserveUnknownFields && !n.Spec.PreserveUnknownFields:
		d.breaking("unknown fields are no longer kept")
	case !o.Spec.PreserveUnknownFields && n.Spec.PreserveUnknownFields:
		d.compatible("unknown fields are kept")
	}
	d.conversion(strategy(o), strategy(n))
	d.versions(o.Spec.Versions, n.Spec.Versions)
}

func (d *differ) names(o, n *extv1.CustomResourceDefinition) {
	d.changed(true, "group", o.Spec.Group, n.Spec.Group)
	a, b := o.Spec.Names, n.Spec.Names
	d.changed(true, "plural", a.Plural, b.Plural)
	d.changed(true, "kind", a.Kind, b.Kind)
	d.changed(true, "list kind", cmp.Or(a.ListKind, a.Kind+"List"), cmp.Or(b.ListKind, b.Kind+"List"))
	d.changed(false, "singular", cmp.Or(a.Singular, strings.ToLower(a.Kind)), cmp.Or(b.Singular, strings.ToLower(b.Kind)))
	d.words("short name", a.ShortNames, b.ShortNames)
	d.words("category", a.Categories, b.Categories)
}

// words compares names for people; programs do not use them.
func (d *differ) words(what string, o, n []string) {
	for _, s := range missing(o, n) {
		d.compatible("%s %s removed", what, s)
	}
	for _, s := range missing(n, o) {
		d.compatible("%s %s added", what, s)
	}
}

// missing returns the elements of a that b lacks, in the order of a.
func missing[T any](a, b []T) []T {
	var out []T
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y T) bool { return reflect.DeepEqual(x, y) }) {
			out = append(out, x)
		}
	}
	return out
}

func strategy(c *extv1.CustomResourceDefinition) extv1.ConversionStrategyType {
	if c.Spec.Conversion == nil || c.Spec.Conversion.Strategy == "" {
		return extv1.NoneConverter
	}
	return c.Spec.Conversion.Strategy
}

func (d *differ) conversion(o, n extv1.ConversionStrategyType) {
	d.changed(o == extv1.WebhookConverter, "conversion", o, n)
}

func (d *differ) versions(older, newer []extv1.CustomResourceDefinitionVersion) {
	find := func(list []extv1.CustomResourceDefinitionVersion, name string) *extv1.CustomResourceDefinitionVersion {
		i := slices.IndexFunc(list, func(v extv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
		if i < 0 {
			return nil
		}
		return &list[i]
	}
	for i := range older {
		o := &older[i]
		d.version, d.path = o.Name, ""
		n := find(newer, o.Name)
		switch {
		case n != nil:
			d.oneVersion(o, n)
		case o.Storage:
			d.breaking("the version is gone, and objects are stored in it")
		case o.Served:
			d.breaking("the version is gone")
		default:
			d.compatible("the version is gone; it was not served")
		}
	}
	for i := range newer {
		if d.version, d.path = newer[i].Name, ""; find(older, d.version) == nil {
			d.compatible("a new version")
		}
	}
	d.version, d.path = "", ""
}

func (d *differ) oneVersion(o, n *extv1.CustomResourceDefinitionVersion) {
	switch {
	case o.Served && !n.Served:
		d.breaking("no longer served")
	case !o.Served && n.Served:
		d.compatible("served from now on")
	}
	switch {
	case o.Storage && !n.Storage:
		d.compatible("no longer the stored version; it is kept, for the objects that are stored in it")
	case !o.Storage && n.Storage:
		d.compatible("the stored version from now on")
	}
	switch {
	case !o.Deprecated && n.Deprecated:
		d.compatible("deprecated")
	case o.Deprecated && !n.Deprecated:
		d.compatible("no longer deprecated")
	}
	d.subresources(o.Subresources, n.Subresources)
	if !reflect.DeepEqual(o.AdditionalPrinterColumns, n.AdditionalPrinterColumns) {
		d.compatible("printer columns changed")
	}
	for _, f := range missing(o.SelectableFields, n.SelectableFields) {
		d.breaking("field selector %s removed", f.JSONPath)
	}
	for _, f := range missing(n.SelectableFields, o.SelectableFields) {
		d.compatible("field selector %s added", f.JSONPath)
	}
	if !o.Served && !n.Served {
		return // it has no clients
	}
	d.path = "."
	d.schema(rootSchema(o), rootSchema(n))
}

// rootSchema returns the schema of a version. A missing one allows everything.
func rootSchema(v *extv1.CustomResourceDefinitionVersion) *extv1.JSONSchemaProps {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		yes := true
		return &extv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &yes}
	}
	return v.Schema.OpenAPIV3Schema
}

func (d *differ) subresources(o, n *extv1.CustomResourceSubresources) {
	o, n = cmp.Or(o, &extv1.CustomResourceSubresources{}), cmp.Or(n, &extv1.CustomResourceSubresources{})
	switch {
	case o.Status != nil && n.Status == nil:
		d.breaking("status subresource removed")
	case o.Status == nil && n.Status != nil:
		d.breaking("status subresource added: writes to the object itself no longer change .status")
	}
	switch {
	case o.Scale != nil && n.Scale == nil:
		d.breaking("scale subresource removed")
	case o.Scale == nil && n.Scale != nil:
		d.compatible("scale subresource added")
	case o.Scale != nil:
		d.changed(true, "scale: path of the wanted replicas", o.Scale.SpecReplicasPath, n.Scale.SpecReplicasPath)
		d.changed(true, "scale: path of the actual replicas", o.Scale.StatusReplicasPath, n.Scale.StatusReplicasPath)
		a, b := value(o.Scale.LabelSelectorPath), value(n.Scale.LabelSelectorPath)
		d.changed(a != "", "scale: path of the selector", cmp.Or(a, "none"), cmp.Or(b, "none"))
	}
}

// value returns the value that p points to, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
