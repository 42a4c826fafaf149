package rbac

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/object"
)

// Declared returns the rules for kinds that a cache follows, such as controller.Controller.Kinds:
// get, list and watch of each. The mapper maps each kind to its resource; its errors are returned.
func Declared(s *runtime.Scheme, mapper meta.RESTMapper, kinds ...object.Object) (Rules, error) {
	var all []Permission
	for _, k := range kinds {
		gvk, err := object.KindOf(s, k)
		if err != nil {
			return Rules{}, err
		}
		m, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return Rules{}, fmt.Errorf("resource of %s: %w", gvk, err)
		}
		all = append(all, grants(m.Resource.Group, m.Resource.Resource, "get", "list", "watch")...)
	}
	return Of(all...), nil
}

// Followed adds get for each resource that the rules both list and watch. A cache needs all three,
// as with [Declared].
func Followed(r Rules) Rules {
	all := r.Permissions()
	for _, p := range r.all {
		list := p
		list.Verb = "list"
		if p.Verb == "watch" && r.Covers(list) {
			p.Verb = "get"
			all = append(all, p)
		}
	}
	return Of(all...)
}

func grants(group, resource string, verbs ...string) []Permission {
	var all []Permission
	for _, v := range verbs {
		all = append(all, Permission{Verb: v, Group: group, Resource: resource})
	}
	return all
}

// Leases returns the rules for leader election. A Role in the namespace of the Lease is enough.
func Leases() Rules {
	return Of(grants("coordination.k8s.io", "leases", "get", "watch", "create", "update")...)
}

// Events returns the rules for recording Kubernetes Events.
func Events() Rules { return Of(grants("events.k8s.io", "events", "create", "patch")...) }

// Serving returns the rules for endpoints that authorize their callers by the cluster, as exposed
// metrics do.
func Serving() Rules {
	return Of(append(grants("authentication.k8s.io", "tokenreviews", "create"),
		grants("authorization.k8s.io", "subjectaccessreviews", "create")...)...)
}

// Certificates returns the rules for certificates that the program makes and rotates itself: the
// Secret that holds them, in its namespace, and the configurations that must trust them.
func Certificates() Rules {
	all := grants("", "secrets", "get", "watch", "create", "update")
	for _, r := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		all = append(all, grants("admissionregistration.k8s.io", r, "get", "watch", "patch")...)
	}
	return Of(append(all, grants("apiextensions.k8s.io", "customresourcedefinitions", "get", "watch", "patch")...)...)
}

// Owning returns the rules for owner references that block the deletion of their owner, as those of
// package child do. The owners are of this resource. Some clusters require it (the admission plugin
// OwnerReferencesPermissionEnforcement), and no request shows that.
func Owning(group, resource string) Rules {
	return Of(grants(group, resource+"/finalizers", "update")...)
}
