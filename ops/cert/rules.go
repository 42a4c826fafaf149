package cert

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// Rules returns the permissions that [Managed] needs with these options: the rules of a Role in the
// Namespace, and those of a ClusterRole. As markers:
//
//	+kubebuilder:rbac:groups="",namespace=NS,resources=secrets,verbs=create
//	+kubebuilder:rbac:groups="",namespace=NS,resources=secrets,resourceNames=NAME,verbs=get;update;watch
//	+kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=…,verbs=get;patch;watch
//	+kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=…,verbs=get;patch;watch
//	+kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=…,verbs=get;patch;watch
//
// Without watch, changes are noticed by polling. RBAC cannot restrict create to a name. To leave
// create out, make an empty Secret with the label by hand.
func (o ManagedOptions) Rules() (role, clusterRole []rbacv1.PolicyRule) {
	role = []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{o.Name}, Verbs: []string{"get", "update", "watch"}},
	}
	add := func(group, resource string, names []string) {
		if len(names) > 0 {
			clusterRole = append(clusterRole, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names, Verbs: []string{"get", "patch", "watch"}})
		}
	}
	add(mutating.Group, "mutatingwebhookconfigurations", o.Mutating)
	add(validating.Group, "validatingwebhookconfigurations", o.Validating)
	add(crd.Group, "customresourcedefinitions", o.CRDs)
	return role, clusterRole
}
