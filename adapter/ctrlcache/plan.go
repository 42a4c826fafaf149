package ctrlcache

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/option"
)

// plan says which watches the kinds have.
type plan struct {
	kinds map[schema.GroupVersionKind]scopes
	// namespaced and cluster are for kinds without options of their own.
	namespaced scopes
	cluster    scopes
}

// scopes are the watches of one kind, by namespace. The empty namespace is for all that have no other.
type scopes map[string]crcache.Config

var (
	errNewInformer = errors.New("this cache makes its own informers: set IgnoreNewInformer of ctrlcache.Options if the function only names them for metrics, or use the default cache")
	errNamespaces  = errors.New("the kind is not namespaced, but Namespaces is set")
	errTwice       = errors.New("the kind is given twice")
	errNothing     = errors.New("it selects nothing, and the default cache would ask for all objects: select something, or leave it out")
)

// newPlan applies the defaults of cache.Options. scope returns the kind of an object, and whether it is
// namespaced.
func newPlan(o *crcache.Options, scope func(crclient.Object) (schema.GroupVersionKind, bool, error)) (*plan, error) {
	if o.NewInformer != nil {
		return nil, &option.Error{Of: "cache.Options", Field: "NewInformer", Err: errNewInformer}
	}
	if err := checkSelectors(o); err != nil {
		return nil, err
	}
	all := crcache.Config{
		LabelSelector: o.DefaultLabelSelector, FieldSelector: o.DefaultFieldSelector, Transform: o.DefaultTransform,
		UnsafeDisableDeepCopy: o.DefaultUnsafeDisableDeepCopy, SyncPeriod: o.SyncPeriod,
	}
	p := &plan{kinds: map[schema.GroupVersionKind]scopes{}, cluster: scopes{"": all}}
	p.namespaced = in(o.DefaultNamespaces, func(_ string, c crcache.Config) crcache.Config { return merged(c, all) })
	if len(p.namespaced) == 0 {
		p.namespaced = p.cluster
	}
	for obj, by := range o.ByObject {
		gvk, namespaced, err := scope(obj)
		field := fmt.Sprintf("ByObject[%T]", obj)
		switch {
		case err != nil:
			return nil, &option.Error{Of: "cache.Options", Field: field, Err: err}
		case p.kinds[gvk] != nil:
			return nil, &option.Error{Of: "cache.Options", Field: field, Err: fmt.Errorf("%s: %w", gvk, errTwice)}
		case !namespaced && by.Namespaces != nil:
			return nil, &option.Error{Of: "cache.Options", Field: field + ".Namespaces", Err: errNamespaces}
		}
		own := crcache.Config{
			LabelSelector: by.Label, FieldSelector: by.Field, Transform: by.Transform,
			UnsafeDisableDeepCopy: by.UnsafeDisableDeepCopy, SyncPeriod: by.SyncPeriod,
		}
		namespaces := by.Namespaces
		if namespaced && namespaces == nil {
			namespaces = o.DefaultNamespaces
		}
		p.kinds[gvk] = in(namespaces, func(namespace string, c crcache.Config) crcache.Config {
			return merged(c, own, o.DefaultNamespaces[namespace], all)
		})
		if len(namespaces) == 0 {
			p.kinds[gvk] = scopes{"": merged(own, all)}
		}
	}
	return p, nil
}

// checkSelectors returns an error for a selector that selects nothing. Its text is empty, as is that of one
// that selects everything.
func checkSelectors(o *crcache.Options) error {
	var err error
	check := func(field string, s interface {
		Empty() bool
		String() string
	}) {
		if s != nil && !s.Empty() && s.String() == "" {
			err = &option.Error{Of: "cache.Options", Field: field, Err: errNothing}
		}
	}
	namespaces := func(field string, all map[string]crcache.Config) {
		for namespace, c := range all {
			check(fmt.Sprintf("%s[%q].LabelSelector", field, namespace), c.LabelSelector)
			check(fmt.Sprintf("%s[%q].FieldSelector", field, namespace), c.FieldSelector)
		}
	}
	check("DefaultLabelSelector", o.DefaultLabelSelector)
	check("DefaultFieldSelector", o.DefaultFieldSelector)
	namespaces("DefaultNamespaces", o.DefaultNamespaces)
	for obj, by := range o.ByObject {
		field := fmt.Sprintf("ByObject[%T]", obj)
		check(field+".Label", by.Label)
		check(field+".Field", by.Field)
		namespaces(field+".Namespaces", by.Namespaces)
	}
	return err
}

// in returns the scopes of namespaces. That of all namespaces leaves the others out.
func in(namespaces map[string]crcache.Config, complete func(string, crcache.Config) crcache.Config) scopes {
	s := scopes{}
	for namespace, c := range namespaces {
		s[namespace] = complete(namespace, c)
	}
	if c, ok := s[metav1.NamespaceAll]; ok && len(s) > 1 {
		var but []fields.Selector
		for _, namespace := range slices.Sorted(maps.Keys(s)) {
			if namespace != metav1.NamespaceAll {
				but = append(but, fields.OneTermNotEqualSelector("metadata.namespace", namespace))
			}
		}
		if c.FieldSelector != nil {
			but = append(but, c.FieldSelector)
		}
		c.FieldSelector = fields.AndSelectors(but...)
		s[metav1.NamespaceAll] = c
	}
	return s
}

// merged returns c with what it does not set, from the first that does.
func merged(c crcache.Config, from ...crcache.Config) crcache.Config {
	for _, f := range from {
		if c.LabelSelector == nil {
			c.LabelSelector = f.LabelSelector
		}
		if c.FieldSelector == nil {
			c.FieldSelector = f.FieldSelector
		}
		if c.Transform == nil {
			c.Transform = f.Transform
		}
		if c.UnsafeDisableDeepCopy == nil {
			c.UnsafeDisableDeepCopy = f.UnsafeDisableDeepCopy
		}
		if c.SyncPeriod == nil {
			c.SyncPeriod = f.SyncPeriod
		}
	}
	return c
}

// of returns the scopes of a kind.
func (p *plan) of(gvk schema.GroupVersionKind, clusterScoped bool) scopes {
	if s, ok := p.kinds[gvk]; ok {
		return s
	}
	if clusterScoped {
		return p.cluster
	}
	return p.namespaced
}

// within returns the namespaces of a cluster-scoped kind whose definition is made anew with namespaces; nil: all.
func (p *plan) within() []string {
	if _, all := p.namespaced[metav1.NamespaceAll]; all {
		return nil
	}
	return slices.Sorted(maps.Keys(p.namespaced))
}

// holding returns the namespace of the scope that holds a namespace; false if none does.
func (s scopes) holding(namespace string) (string, bool) {
	if _, ok := s[namespace]; ok {
		return namespace, true
	}
	_, ok := s[metav1.NamespaceAll]
	return metav1.NamespaceAll, ok
}

// watched returns the one namespace that the watch of a scope is restricted to; empty: all.
func watched(namespace string, c crcache.Config) string {
	if namespace != "" || c.FieldSelector == nil {
		return namespace
	}
	namespace, _ = c.FieldSelector.RequiresExactMatch("metadata.namespace")
	return namespace
}
