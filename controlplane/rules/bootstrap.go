package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// bootstrap creates what every cluster has and what does not depend on it: the APIServices of the built-in versions,
// priority levels, flow schemas, and with RBAC the roles and bindings.
func (a *api) bootstrap(c *call) error {
	for _, b := range a.groups {
		spec := apiregistration.APIServiceSpec{Group: b.group.name, Version: b.version.name, GroupPriorityMinimum: int32(b.group.priority), VersionPriority: int32(b.version.priority)}
		if b.group.name == registrationGroup { // the aggregator serves it itself
			continue
		}
		if err := a.createAPIService(c, atStart, spec); err != nil {
			return err
		}
	}
	if err := a.beginFlows(c); err != nil || !c.req.RBAC {
		return err
	}
	return a.beginRoles(c)
}

// beginRoles creates the roles and bindings, in the order of the real server.
func (a *api) beginRoles(c *call) error {
	const root = "/apis/" + rbacGroup + "/v1/"
	create := func(kind, path string, o any) error {
		body, err := json.Marshal(o)
		if err != nil {
			return err
		}
		return a.inner(c, http.MethodPost, root+path, slices.Concat([]byte(`{"apiVersion":"`+rbacGroup+`/v1","kind":"`+kind+`",`), body[1:]))
	}
	for _, o := range slices.Concat(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()) {
		if err := create("ClusterRole", "clusterroles", o); err != nil {
			return err
		}
	}
	for _, o := range slices.Concat(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()) {
		if err := create("ClusterRoleBinding", "clusterrolebindings", o); err != nil {
			return err
		}
	}
	roles, bindings := bootstrappolicy.NamespaceRoles(), bootstrappolicy.NamespaceRoleBindings()
	for _, namespace := range slices.Sorted(maps.Keys(roles)) {
		if err := createIn(create, "Role", namespace, "roles", roles[namespace]); err != nil {
			return err
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(bindings)) {
		if err := createIn(create, "RoleBinding", namespace, "rolebindings", bindings[namespace]); err != nil {
			return err
		}
	}
	return nil
}

func createIn[T any](create func(kind, path string, o any) error, kind, namespace, resource string, objects []T) error {
	for _, o := range objects {
		if err := create(kind, "namespaces/"+namespace+"/"+resource, o); err != nil {
			return err
		}
	}
	return nil
}
