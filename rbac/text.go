package rbac

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// ErrNoRules says that a text has no role, and nothing else with rules either.
var ErrNoRules = errors.New("it has no rules")

// Parse reads the rules of all roles in a text: YAML documents or JSON, of kind Role or ClusterRole,
// or without a kind, as a [Recorder] saves them. Documents of other kinds, such as bindings, are
// passed over. A role with an aggregationRule is an error: its rules are made by the cluster.
func Parse(text []byte) (Rules, error) {
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var all []Rules
	for n := 1; ; n++ {
		var doc struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Rules           []rbacv1.PolicyRule `json:"rules"`
			AggregationRule json.RawMessage     `json:"aggregationRule"`
		}
		var raw json.RawMessage
		if err := docs.Decode(&raw); err == io.EOF {
			break
		} else if err != nil {
			return Rules{}, fmt.Errorf("document %d: %w", n, err)
		}
		if len(bytes.TrimSpace(raw)) == 0 || string(raw) == "null" {
			continue
		}
		if err := json.Unmarshal(raw, &doc); err != nil {
			return Rules{}, fmt.Errorf("document %d: %w", n, err)
		}
		where := fmt.Sprintf("document %d", n)
		if doc.Metadata.Name != "" {
			where = doc.Kind + " " + doc.Metadata.Name
		}
		switch {
		case doc.Kind != "" && doc.Kind != "Role" && doc.Kind != "ClusterRole":
			continue
		case len(doc.AggregationRule) > 0 && string(doc.AggregationRule) != "null":
			return Rules{}, fmt.Errorf("%s: its rules are aggregated from other roles: name those", where)
		case doc.Kind == "" && doc.Rules == nil:
			return Rules{}, fmt.Errorf("%s: %w", where, ErrNoRules)
		}
		r, err := New(doc.Rules...)
		if err != nil {
			return Rules{}, fmt.Errorf("%s: %w", where, err)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return Rules{}, ErrNoRules
	}
	return Union(all...), nil
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
