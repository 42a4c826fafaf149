package control

import "strings"

// Kind is a resource of the API in one version.
type Kind struct {
	root   string // of paths
	prefix string // of keys
	name   string
}

// NewKind returns a resource, such as "apps", "v1", "deployments". The group of core resources is "".
func NewKind(group, version, resource string) Kind {
	if group == "" {
		return Kind{"/api/" + version, "/core/" + resource + "/", resource}
	}
	return Kind{"/apis/" + group + "/" + version, "/" + group + "/" + resource + "/", resource}
}

// Resources of controllers.
var (
	Pods            = NewKind("", "v1", "pods")
	Nodes           = NewKind("", "v1", "nodes")
	Namespaces      = NewKind("", "v1", "namespaces")
	ConfigMaps      = NewKind("", "v1", "configmaps")
	ServiceAccounts = NewKind("", "v1", "serviceaccounts")
	Deployments     = NewKind("apps", "v1", "deployments")
	ReplicaSets     = NewKind("apps", "v1", "replicasets")

	ReplicationControllers = NewKind("", "v1", "replicationcontrollers")
)

// Prefix returns the prefix of the keys of a namespace; for "" that of all keys of the kind.
func (k Kind) Prefix(namespace string) string {
	if namespace == "" {
		return k.prefix
	}
	return k.prefix + namespace + "/"
}

// Key returns the key of an object. The namespace of a cluster-wide object is "".
func (k Kind) Key(namespace, name string) string { return k.Prefix(namespace) + name }

// Names returns the namespace and name of a key of the kind.
func (k Kind) Names(key string) (namespace, name string) {
	rest := strings.TrimPrefix(key, k.prefix)
	if namespace, name, ok := strings.Cut(rest, "/"); ok {
		return namespace, name
	}
	return "", rest
}

// Path returns the path of an object or, without a name, of a collection. The subresource may be "".
func (k Kind) Path(namespace, name, subresource string) string {
	path := k.root
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + k.name
	for _, part := range []string{name, subresource} {
		if part != "" {
			path += "/" + part
		}
	}
	return path
}

// Has reports whether a key is of the kind.
func (k Kind) Has(key string) bool { return strings.HasPrefix(key, k.prefix) }
