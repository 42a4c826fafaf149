package garbage

import (
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/scheme"
)

// state is the state of an owner.
type state int

const (
	absent  state = iota // there is no such owner; its kind is there, or was
	unknown              // there is no such kind, and the owner was not seen; or a cluster-wide object names a namespaced one
	there
	leaving // it waits for its dependents to go
)

// stateOf returns the state of the owner that a reference names. An object with the uid of the reference but another
// name, kind or namespace is not the owner.
func (g *collector) stateOf(s *control.State, ref metav1.OwnerReference, dependent *control.Meta) state {
	namespaced, ok := scopeOf(s, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	if was := g.gone[ref.UID]; !ok && was != nil && was.APIVersion == ref.APIVersion && was.Kind == ref.Kind && was.Name == ref.Name && (was.Namespace == "" || was.Namespace == dependent.Namespace) {
		return absent
	}
	if !ok || namespaced && dependent.Namespace == "" {
		return unknown
	}
	m := s.Meta(s.Find(ref.UID))
	switch {
	case m == nil, m.Name != ref.Name, m.Kind != ref.Kind, groupOf(m.APIVersion) != groupOf(ref.APIVersion):
		return absent
	case namespaced && m.Namespace != dependent.Namespace:
		return absent
	case inForeground(m):
		return leaving
	}
	return there
}

func groupOf(apiVersion string) string {
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		return ""
	}
	return group
}

// kinds are the built-in kinds.
var kinds = sync.OnceValue(func() *runtime.Scheme { return scheme.New() })

// clusterWide are the built-in kinds without a namespace.
var clusterWide = map[string]bool{
	"Namespace": true, "Node": true, "PersistentVolume": true, "ClusterRole": true, "ClusterRoleBinding": true, "StorageClass": true, "CSIDriver": true,
	"CSINode": true, "VolumeAttachment": true, "VolumeAttributesClass": true, "PriorityClass": true, "RuntimeClass": true, "IngressClass": true,
	"ServiceCIDR": true, "IPAddress": true, "FlowSchema": true, "PriorityLevelConfiguration": true, "CertificateSigningRequest": true,
	"MutatingWebhookConfiguration": true, "ValidatingWebhookConfiguration": true, "ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true,
	"MutatingAdmissionPolicy": true, "MutatingAdmissionPolicyBinding": true, "DeviceClass": true, "ResourceSlice": true,
}

// scopeOf reports whether the objects of a kind have namespaces, and whether there is such a kind.
func scopeOf(s *control.State, k schema.GroupVersionKind) (namespaced, ok bool) {
	if kinds().Recognizes(k) {
		return !clusterWide[k.Kind], true
	}
	if k.Group == "apiextensions.k8s.io" {
		return false, k.Kind == "CustomResourceDefinition" && k.Version == "v1"
	}
	if d := control.DefinitionOf(s, k.Group, k.Kind); d != nil {
		for _, v := range d.Spec.Versions {
			if v.Name == k.Version && v.Served {
				return d.Spec.Scope == "Namespaced", true
			}
		}
	}
	return false, false
}
