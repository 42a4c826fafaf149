package informer

import (
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
	if s.Labels != nil && !s.Labels.Empty() {
		add("labels=" + s.Labels.String())
	}
	if s.Fields != nil && !s.Fields.Empty() {
		add("fields=" + s.Fields.String())
	}
	if s.MetadataOnly {
		add("metadata-only")
	}
	return text
}
