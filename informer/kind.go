package informer

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kind is a kind of object, and how the server names it.
type Kind struct {
	GVK      schema.GroupVersionKind
	Resource schema.GroupVersionResource
	// ClusterScoped reports that the kind has no namespaces. Those of keys are ignored.
	ClusterScoped bool
}
