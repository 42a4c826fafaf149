package client

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Selection says which objects of a kind to list or watch, in this package, in informers and in caches.
// The zero value selects all objects, whole. As an option of a list or a [DeleteAll] it takes selectors
// that a program has as values.
type Selection struct {
	// Namespace restricts to one namespace; empty means all. It is ignored for a cluster-scoped kind.
	Namespace string
	// Labels and Fields restrict to objects that match both; nil matches everything.
	Labels labels.Selector
	Fields fields.Selector
	// MetadataOnly asks the server for the objects' metadata and nothing else.
	MetadataOnly bool
}

// ApplyToList implements [ListOption]. Selectors add up.
func (s Selection) ApplyToList(o *ListOptions) {
	set(&o.Namespace, s.Namespace)
	set(&o.MetadataOnly, s.MetadataOnly)
	if s.Labels != nil {
		o.Labels = andLabels(o.Labels, s.Labels)
	}
	if s.Fields != nil {
		o.Fields = andFields(o.Fields, s.Fields)
	}
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (s Selection) ApplyToWrite(op *Op) { s.ApplyToList(&op.Select) }

// String is a short form for people. It is empty for the zero Selection.
func (s Selection) String() string {
	const nothing = "<nothing>" // the text of a selector that matches nothing is empty
	var text []string
	if s.Namespace != "" {
		text = append(text, "namespace="+s.Namespace)
	}
	if s.Labels != nil && !s.Labels.Empty() {
		text = append(text, "labels="+cmp.Or(s.Labels.String(), nothing))
	}
	if s.Fields != nil && !s.Fields.Empty() {
		text = append(text, "fields="+cmp.Or(s.Fields.String(), nothing))
	}
	if s.MetadataOnly {
		text = append(text, "metadata-only")
	}
	return strings.Join(text, " ")
}

// String is a short form for people. It is empty for the zero ListOptions.
func (o ListOptions) String() string {
	var text []string
	if s := o.Selection.String(); s != "" {
		text = append(text, s)
	}
	for _, part := range []struct {
		name  string
		value any
	}{
		{"kind", o.Kind}, {"limit", o.Limit}, {"continue", o.Continue}, {"resourceVersion", o.ResourceVersion},
		{"match", o.Match}, {"inconsistent", o.Inconsistent}, {"even-unavailable", o.EvenUnavailable},
	} {
		if !reflect.ValueOf(part.value).IsZero() {
			text = append(text, fmt.Sprintf("%s=%v", part.name, part.value))
		}
	}
	return strings.Join(text, " ")
}
