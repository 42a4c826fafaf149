package informer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is what an informer watches, and how the server names it.
type Kind struct {
	GVK      schema.GroupVersionKind
	Resource schema.GroupVersionResource
	// ClusterScoped says that the kind has no namespaces: those of keys are ignored.
	ClusterScoped bool
}

// Selection is the part of a kind that is watched. The zero value is all of it, with whole
// objects.
type Selection struct {
	// Namespace restricts to one namespace; empty means all.
	Namespace string
	// Labels and Fields restrict to what matches; nil means everything.
	Labels labels.Selector
	Fields fields.Selector
	// MetadataOnly asks the server for the metadata of the objects and nothing else.
	MetadataOnly bool
}

// String is a short form for people, empty for the zero Selection.
func (s Selection) String() string {
	var text string
	add := func(part string) {
		if text != "" {
			text += " "
		}
		text += part
	}
	if s.Namespace != "" {
		add("namespace=" + s.Namespace)
	}
	const nothing = "<nothing>" // its own text is empty
	if s.Labels != nil && !s.Labels.Empty() {
		add("labels=" + cmp.Or(s.Labels.String(), nothing))
	}
	if s.Fields != nil && !s.Fields.Empty() {
		add("fields=" + cmp.Or(s.Fields.String(), nothing))
	}
	if s.MetadataOnly {
		add("metadata-only")
	}
	return text
}

// shareKey tells informers apart: two selections with one key mean the same.
type shareKey struct {
	gvk                       schema.GroupVersionKind
	namespace, labels, fields string
	metadataOnly              bool
}

func keyOf(gvk schema.GroupVersionKind, sel Selection) shareKey {
	return shareKey{
		gvk: gvk, namespace: sel.Namespace, metadataOnly: sel.MetadataOnly,
		labels: labelsKey(sel.Labels), fields: fieldsKey(sel.Fields),
	}
}

// nothingKey is the key of a selector that matches nothing. The text of such a selector is empty, as
// is that of one that matches everything.
const nothingKey = "nothing"

// labelsKey is made of the requirements, quoted: their text alone is ambiguous.
func labelsKey(sel labels.Selector) string {
	if sel == nil || sel.Empty() {
		return ""
	}
	requirements, selectable := sel.Requirements()
	if !selectable {
		return nothingKey
	}
	var terms []string
	for _, r := range requirements {
		terms = append(terms, fmt.Sprintf("%q %s %q", r.Key(), r.Operator(), r.Values().List()))
	}
	return joinTerms(terms)
}

// fieldsKey is the same for fields. Only a selector that matches nothing has no requirement and is
// not empty.
func fieldsKey(sel fields.Selector) string {
	if sel == nil || sel.Empty() {
		return ""
	}
	var terms []string
	for _, r := range sel.Requirements() {
		terms = append(terms, fmt.Sprintf("%q %s %q", r.Field, r.Operator, r.Value))
	}
	if len(terms) == 0 {
		return nothingKey
	}
	return joinTerms(terms)
}

// joinTerms puts terms together that must all hold, in whatever order.
func joinTerms(terms []string) string {
	slices.Sort(terms)
	return strings.Join(slices.Compact(terms), ", ")
}
