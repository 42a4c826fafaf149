package client

import (
	"cmp"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Selection says which objects of a kind to list or watch, in this package, in informers and in caches.
// The zero value selects all objects, whole.
type Selection struct {
	// Namespace restricts to one namespace; empty means all. It is ignored for a cluster-scoped kind.
	Namespace string
	// Labels and Fields restrict to objects that match both; nil matches everything.
	Labels labels.Selector
	Fields fields.Selector
	// MetadataOnly asks the server for the objects' metadata and nothing else.
	MetadataOnly bool
}

// String is a short form for people. It is empty for the zero Selection.
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
