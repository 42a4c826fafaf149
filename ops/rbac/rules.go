package rbac

import "slices"

// Rules are a set of permissions. They are immutable. The zero value grants nothing.
type Rules struct {
	all []Permission // sorted, without duplicates and without permissions that another one covers
}

// Of returns the rules that grant these permissions.
func Of(permissions ...Permission) Rules {
	all := slices.Clone(permissions)
	slices.SortFunc(all, Permission.Compare)
	all = slices.Compact(all)
	whole := map[Permission]bool{}
	for _, p := range all {
		if p.Name == "" {
			whole[p] = true
		}
	}
	return Rules{slices.DeleteFunc(all, func(p Permission) bool {
		named := p.Name != ""
		p.Name = ""
		return named && whole[p]
	})}
}

// Permissions returns all permissions that the rules grant, sorted. A permission for one object is
// left out if the same is granted for all.
func (r Rules) Permissions() []Permission { return slices.Clone(r.all) }

// Union returns rules that grant every permission of the given ones.
func Union(rules ...Rules) Rules {
	var all []Permission
	for _, r := range rules {
		all = append(all, r.all...)
	}
	return Of(all...)
}

// Covers reports whether the rules grant a permission, for its name or for all names, also by a "*".
func (r Rules) Covers(p Permission) bool {
	return slices.ContainsFunc(r.all, func(q Permission) bool { return q.covers(p) })
}

// Missing returns the permissions of need that have does not grant.
func Missing(have, need Rules) []Permission {
	return slices.DeleteFunc(need.Permissions(), have.Covers)
}

// Excess returns the permissions of have that need does not contain. A permission for all objects
// is in excess if need has it for some objects only.
func Excess(have, need Rules) []Permission {
	return slices.DeleteFunc(have.Permissions(), need.Covers)
}
