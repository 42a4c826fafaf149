package informer

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kind is a kind of object, with its name on the server.
type Kind struct {
	GVK      schema.GroupVersionKind
	Resource schema.GroupVersionResource
	// ClusterScoped reports that the kind has no namespaces. Namespaces of keys are ignored. It is what the
	// server says when the informer is made: see Informer.Kind.
	ClusterScoped bool
}
