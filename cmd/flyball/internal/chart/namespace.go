package chart

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/manifest"
)

// namespaceFields are the fields that name a namespace, beside metadata.namespace and the selectors of namespaces. A "*"
// stands for each element of a list.
var namespaceFields = [][]string{
	{"subjects", "*", "namespace"},
	{"webhooks", "*", "clientConfig", "service", "namespace"},
	{"spec", "conversion", "webhook", "clientConfig", "service", "namespace"},
	{"spec", "service", "namespace"}, // of an APIService
}

// hostFields are the fields that name a Service by its host name.
var hostFields = [][]string{
	{"spec", "dnsNames", "*"},                             // of a Certificate
	{"spec", "commonName"},                                // of a Certificate
	{"spec", "endpoints", "*", "tlsConfig", "serverName"}, // of a ServiceMonitor
}

// certificateNotes are the annotations with the namespace and the name of a Certificate or Secret.
var certificateNotes = []string{"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret"}

// place puts the namespace of the release into the fields that name the one of the objects.
func (c *chart) place(o manifest.Object) {
	if o.GetNamespace() == c.Namespace {
		o.SetNamespace(c.stand(namespace))
	}
	for _, path := range namespaceFields {
		each(o.Object, path, c.whole)
	}
	for _, path := range hostFields {
		each(o.Object, path, c.host)
	}
	notes := o.GetAnnotations()
	for _, key := range certificateNotes {
		if of, name, ok := strings.Cut(notes[key], "/"); ok && of == c.Namespace {
			notes[key] = c.stand(namespace) + "/" + name
			o.SetAnnotations(notes)
		}
	}
	each(o.Object, []string{"rules", "*"}, c.rule)
	if !manifest.IsCRD(o) {
		c.selectors(o.Object)
	}
}

// each replaces the values at a path.
func each(v any, path []string, by func(any) any) any {
	if len(path) == 0 {
		return by(v)
	}
	switch v := v.(type) {
	case []any:
		if path[0] == "*" {
			for i := range v {
				v[i] = each(v[i], path[1:], by)
			}
		}
	case map[string]any:
		if child, ok := v[path[0]]; ok {
			v[path[0]] = each(child, path[1:], by)
		}
	}
	return v
}

// whole replaces a value that is the namespace.
func (c *chart) whole(v any) any {
	if v == c.Namespace {
		return c.stand(namespace)
	}
	return v
}

// host replaces the namespace in the host name of a Service: NAME.NAMESPACE.svc, and what may follow.
func (c *chart) host(v any) any {
	text, _ := v.(string)
	parts := strings.Split(text, ".")
	if len(parts) < 3 || parts[1] != c.Namespace || parts[2] != "svc" {
		return v
	}
	parts[1] = c.stand(namespace)
	return strings.Join(parts, ".")
}

// rule replaces the namespace among the names of a role's rule for namespaces.
func (c *chart) rule(v any) any {
	if r, ok := v.(map[string]any); ok {
		if resources, ok := r["resources"].([]any); ok && slices.Contains(resources, any("namespaces")) {
			each(r, []string{"resourceNames", "*"}, c.whole)
		}
	}
	return v
}

// selectors replaces the namespace in all selectors of namespaces.
func (c *chart) selectors(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			c.selectors(x)
		}
	case map[string]any:
		for key, x := range v {
			if key == "namespaceSelector" {
				c.selector(x)
			}
			c.selectors(x)
		}
	}
}

func (c *chart) selector(v any) {
	each(v, []string{"matchLabels", corev1.LabelMetadataName}, c.whole)
	each(v, []string{"matchNames", "*"}, c.whole) // of a ServiceMonitor
	each(v, []string{"matchExpressions", "*"}, func(v any) any {
		if x, ok := v.(map[string]any); ok && x["key"] == corev1.LabelMetadataName {
			each(x, []string{"values", "*"}, c.whole)
		}
		return v
	})
}
