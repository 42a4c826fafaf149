package rbac

import (
	"encoding/json"
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

// ErrNoRules says that a text has no role, and nothing else with rules either.
var ErrNoRules = errors.New("it has no rules")

// Parse reads the rules of all roles in a text: YAML documents or JSON, of kind Role or ClusterRole,
// or without a kind, as a [Recorder] saves them. What else is in it, such as bindings, is passed
// over. A role with an aggregationRule is an error: its rules are made by the cluster.
func Parse(text []byte) (Rules, error) {
	var f found
	if err := f.read(text); err != nil {
		return Rules{}, err
	}
	return f.rules(nil)
}

// MarshalJSON writes the rules as {"rules": […]}, which [Parse] reads.
func (r Rules) MarshalJSON() ([]byte, error) {
	rules := r.PolicyRules()
	if rules == nil {
		rules = []rbacv1.PolicyRule{}
	}
	return json.Marshal(map[string]any{"rules": rules})
}

// UnmarshalJSON reads what MarshalJSON writes, or a role.
func (r *Rules) UnmarshalJSON(data []byte) error {
	got, err := Parse(data)
	if err != nil {
		return err
	}
	*r = got
	return nil
}

// ClusterRole is the YAML of a ClusterRole that grants the rules.
func (r Rules) ClusterRole(name string) []byte { return r.role("ClusterRole", "", name) }

// Role is the YAML of a Role that grants the rules in a namespace, which may be empty for kustomize
// to fill in. What has no namespaces cannot be granted by a Role.
func (r Rules) Role(namespace, name string) []byte { return r.role("Role", namespace, name) }

func (r Rules) role(kind, namespace, name string) []byte {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	rules := r.PolicyRules()
	if rules == nil {
		rules = []rbacv1.PolicyRule{}
	}
	text, err := sigsyaml.Marshal(map[string]any{
		"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": kind, "metadata": metadata, "rules": rules,
	})
	if err != nil { // maps and strings always encode
		panic(err)
	}
	return text
}
