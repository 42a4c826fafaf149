package generate

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/rbac"
)

// roles generates the ClusterRoles and Roles, or nil if no marker asks for any.
func (p *project) roles() ([]byte, error) {
	if err := p.checkNamespaces().err(); err != nil {
		return nil, err
	}
	objects, err := rbac.GenerateRoles(&genall.GenerationContext{Collector: p.collector, Roots: p.roots}, p.RoleName)
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	var roles []any
	for _, r := range p.arranged(objects) {
		roles = append(roles, r)
	}
	return document(roles...)
}

// checkNamespaces rejects markers of a namespace that the deployment replaces.
func (p *project) checkNamespaces() (out Problems) {
	for _, m := range p.marks {
		if r, ok := m.value.(rbac.Rule); ok && p.DeployNamespace != "" && p.ownNamespace(r.Namespace) != "" && r.Namespace != p.RoleNamespace {
			out = append(out, problemf(m.at, m.name(), "namespace=%s: config/default puts all objects into the namespace %s: leave it out, "+
				"or write a Role and its binding in that namespace by hand, outside of config/default", r.Namespace, p.DeployNamespace))
		}
	}
	return out
}

// ownNamespace returns a marker's namespace, or "" for that of the program.
func (p *project) ownNamespace(namespace string) string {
	if namespace != "" && (namespace == p.DeployNamespace || namespace == p.HookNamespace) {
		return ""
	}
	return namespace
}

// arranged returns the roles as a project has them, each name once in each namespace. In a namespaced project the rules
// of ClusterRoles are in Roles of the same names. Rules for URLs stay: no Role can have them. The role of the program is
// always there, since its binding is.
func (p *project) arranged(objects []any) []rbacv1.ClusterRole {
	var out []rbacv1.ClusterRole
	to := func(namespace, name string) *rbacv1.ClusterRole {
		i := slices.IndexFunc(out, func(r rbacv1.ClusterRole) bool { return r.Namespace == namespace && r.Name == name })
		if i < 0 {
			i = len(out)
			out = append(out, p.newRole(namespace, name))
		}
		return &out[i]
	}
	for _, o := range objects {
		switch o := o.(type) {
		case rbacv1.ClusterRole:
			for _, r := range o.Rules {
				namespace := p.RoleNamespace
				if len(r.NonResourceURLs) > 0 {
					namespace = ""
				}
				role := to(namespace, o.Name)
				role.Rules = append(role.Rules, r)
			}
		case rbacv1.Role:
			namespace := o.Namespace
			if p.DeployNamespace != "" && p.ownNamespace(namespace) == "" {
				namespace = cmp.Or(p.HookNamespace, namespace)
			}
			role := to(namespace, o.Name)
			role.Rules = append(role.Rules, o.Rules...)
		}
	}
	if p.DeployNamespace != "" {
		to(p.RoleNamespace, p.RoleName)
	}
	slices.SortStableFunc(out, func(a, b rbacv1.ClusterRole) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return out
}

// newRole returns a role that grants nothing: a ClusterRole without a namespace, and otherwise a Role, which has the same
// fields.
func (p *project) newRole(namespace, name string) rbacv1.ClusterRole {
	kind := "ClusterRole"
	if namespace != "" {
		kind = "Role"
	}
	return rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Rules:      []rbacv1.PolicyRule{},
	}
}

// emptyRoleAt returns a role that grants nothing, or nil if the project has no roles, or the file is somebody else's.
func (p *project) emptyRoleAt(path string) ([]byte, error) {
	if _, err := os.Stat(filepath.Dir(path)); err != nil || p.foreign(path, nil) != "" {
		return nil, nil
	}
	return document(p.newRole(p.RoleNamespace, p.RoleName))
}
