package rbac

import (
	"fmt"
	"strings"

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

func grants(group, resource string, verbs ...string) []Permission {
	var all []Permission
	for _, v := range verbs {
		all = append(all, Permission{Verb: v, Group: group, Resource: resource})
	}
	return all
}

// Features returns the rules for features that a test run may not show:
//
//	leases                 leader election, in the namespace of the Lease
//	events                 recording Kubernetes Events
//	serving                endpoints that authorize their callers by the cluster, as exposed metrics do
//	certificates           certificates that the program makes and rotates: the Secret that holds them,
//	                       in its namespace, and the configurations that must trust them
//	owning=RESOURCE.GROUP  owner references to these objects that block their deletion, as package
//	                       child makes them; some clusters require this right (the admission plugin
//	                       OwnerReferencesPermissionEnforcement), and no request shows it
//
// The error names the unknown feature.
func Features(names ...string) (Rules, error) {
	var all []Permission
	for _, name := range names {
		feature, owned, _ := strings.Cut(name, "=")
		resource, group, _ := strings.Cut(owned, ".")
		switch {
		case feature == "owning" && resource != "" && !strings.ContainsAny(owned, "*/"):
			all = append(all, grants(group, resource+"/finalizers", "update")...)
		case name == "leases":
			all = append(all, grants("coordination.k8s.io", "leases", "get", "watch", "create", "update")...)
		case name == "events":
			all = append(all, grants("events.k8s.io", "events", "create", "patch")...)
		case name == "serving":
			all = append(all, grants("authentication.k8s.io", "tokenreviews", "create")...)
			all = append(all, grants("authorization.k8s.io", "subjectaccessreviews", "create")...)
		case name == "certificates":
			all = append(all, grants("", "secrets", "get", "watch", "create", "update")...)
			for _, r := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
				all = append(all, grants("admissionregistration.k8s.io", r, "get", "watch", "patch")...)
			}
			all = append(all, grants("apiextensions.k8s.io", "customresourcedefinitions", "get", "watch", "patch")...)
		default:
			return Rules{}, fmt.Errorf("%s: want leases, events, serving, certificates or owning=RESOURCE.GROUP", name)
		}
	}
	return Of(all...), nil
}
