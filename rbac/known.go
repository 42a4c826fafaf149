package rbac

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/object"
)

// Declared are the rules for kinds that a cache follows: get, list and watch of each, such as those
// of controller.Controller.Kinds. The mapper knows which resource serves a kind; its errors are
// passed on.
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

// Followed adds what [Declared] would say of the resources that are both listed and watched, as
// caches do: get.
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

// Leases are the rules for leader election. A Role in the namespace of the Lease is enough.
func Leases() Rules {
	return Of(grants("coordination.k8s.io", "leases", "get", "watch", "create", "update")...)
}

// Events are the rules for recording Kubernetes Events.
func Events() Rules { return Of(grants("events.k8s.io", "events", "create", "patch")...) }

// Serving are the rules for endpoints that ask the cluster who may read them, as exposed metrics
// do.
func Serving() Rules {
	return Of(append(grants("authentication.k8s.io", "tokenreviews", "create"),
		grants("authorization.k8s.io", "subjectaccessreviews", "create")...)...)
}

// Certificates are the rules for certificates that the program makes and rotates by itself: the
// Secret that holds them, in its namespace, and the configurations that must trust them.
func Certificates() Rules {
	all := grants("", "secrets", "get", "watch", "create", "update")
	for _, r := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		all = append(all, grants("admissionregistration.k8s.io", r, "get", "watch", "patch")...)
	}
	return Of(append(all, grants("apiextensions.k8s.io", "customresourcedefinitions", "get", "watch", "patch")...)...)
}

// Owning are the rules for owner references that keep the owner until its child is gone, as those
// of package child do, to owners of this resource: some clusters ask for it (the admission plugin
// OwnerReferencesPermissionEnforcement), and no request shows it.
func Owning(group, resource string) Rules {
	return Of(grants(group, resource+"/finalizers", "update")...)
}
