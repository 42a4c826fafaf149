package cache

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/option"
)

// setKinds checks the namespaces and the options of kinds.
func (c *Cache) setKinds() error {
	if err := checkNamespaces(c.o.Namespaces); err != nil {
		return &option.Error{Of: "cache.Options", Field: "Namespaces", Err: err}
	}
	for _, k := range c.o.Kinds {
		err := checkNamespaces(k.Namespaces)
		for _, other := range c.overrides[k.Kind] {
			if twice := common(k.Namespaces, other.Namespaces); twice != "" {
				err = fmt.Errorf("is given twice for %s", twice)
			}
		}
		if err != nil {
			return badKind(k.Kind, err)
		}
		c.overrides[k.Kind] = append(c.overrides[k.Kind], k)
	}
	return nil
}

// badKind is the error for the options of a kind.
func badKind(gvk schema.GroupVersionKind, err error) error {
	return &option.Error{Of: "cache.Options", Field: "Kinds", Err: fmt.Errorf("%s: %w", gvk, err)}
}

// checkNamespaces returns an error for a name that no namespace has. The empty one stands for all.
func checkNamespaces(names []string) error {
	for _, name := range names {
		if problems := validation.IsDNS1123Label(name); name != metav1.NamespaceAll && len(problems) > 0 {
			return fmt.Errorf("%q is no namespace: %s", name, problems[0])
		}
	}
	return nil
}

// common names what two lists of namespaces have in common, or "".
func common(a, b []string) string {
	if len(a) == 0 || len(b) == 0 || slices.Contains(slices.Concat(a, b), metav1.NamespaceAll) {
		return "all namespaces"
	}
	for _, name := range a {
		if slices.Contains(b, name) {
			return "namespace " + name
		}
	}
	return ""
}

// override returns the options of a kind for a watch of a namespace.
func (c *Cache) override(gvk schema.GroupVersionKind, namespace string) KindOptions {
	all := c.overrides[gvk]
	for _, k := range all {
		if len(all) == 1 || slices.Contains(k.Namespaces, namespace) {
			return k
		}
	}
	return KindOptions{}
}

// namespaces returns the namespaces that a kind is watched in, sorted.
func (c *Cache) namespaces(kind informer.Kind) []string {
	if names := c.chosen(kind.GVK); names != nil && !kind.ClusterScoped {
		return names
	}
	return []string{metav1.NamespaceAll}
}

// chosen returns the namespaces that the options name for a kind, sorted; nil: all.
func (c *Cache) chosen(gvk schema.GroupVersionKind) []string {
	names := c.o.Namespaces
	if all := c.overrides[gvk]; len(all) > 0 && all[0].Namespaces != nil {
		names = nil
		for _, k := range all {
			names = append(names, k.Namespaces...)
		}
	}
	if len(names) == 0 || slices.Contains(names, metav1.NamespaceAll) {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// configure applies the options of a kind.
func (c *Cache) configure(o *informer.Options) {
	override := c.override(o.Kind.GVK, o.Selection.Namespace)
	o.KeepManagedFields = c.o.KeepManagedFields || override.KeepManagedFields
	if override.Audit != 0 {
		o.Audit = override.Audit
	}
	o.Budget, o.GoHeap = c.budget(o.Kind.GVK), c.o.GoHeap
	if !o.Selection.MetadataOnly {
		o.Transform = override.Transform
	}
	if c.o.Configure != nil {
		c.o.Configure(o)
	}
	if o.Transform != nil {
		c.transformed.Store(o.Kind.GVK, struct{}{})
	}
}

// budget returns the budget of a kind, shared by all of its watches, or nil. c.mu is held.
func (c *Cache) budget(gvk schema.GroupVersionKind) *informer.Budget {
	bytes := c.o.MemoryBudget
	for _, k := range c.overrides[gvk] {
		bytes = cmp.Or(k.MemoryBudget, bytes)
	}
	if c.budgets[gvk] == nil {
		c.budgets[gvk] = &informer.Budget{Bytes: bytes}
	}
	return c.budgets[gvk]
}
