package rbac

import (
	"encoding/json"
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

// ErrNoRules says that a text has neither a role nor other rules.
var ErrNoRules = errors.New("it has no rules")

// Parse reads the rules of all roles in a text: YAML or JSON documents of kind Role or ClusterRole,
// or without a kind, as a [Recorder] saves them. Other documents, such as bindings, are skipped. A
// role with an aggregationRule is an error, since the cluster makes its rules.
func Parse(text []byte) (Rules, error) {
	var f contents
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

// UnmarshalJSON reads the output of MarshalJSON, or a role.
func (r *Rules) UnmarshalJSON(data []byte) error {
	got, err := Parse(data)
	if err != nil {
		return err
	}
	*r = got
	return nil
}

// ClusterRole returns the YAML of a ClusterRole that grants the rules.
func (r Rules) ClusterRole(name string) []byte { return r.role("ClusterRole", "", name) }

// Role returns the YAML of a Role that grants the rules in a namespace. The namespace may be empty
// for kustomize to fill in. A Role cannot grant access to cluster-scoped resources or URLs.
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
