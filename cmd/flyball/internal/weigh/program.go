package weigh

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Program is what the roles of a program let it hold in a cache.
type Program struct {
	rules []rule
}

// rule is a rule of a role. An empty namespace means that of a ClusterRole: all.
type rule struct {
	namespace string
	rbacv1.PolicyRule
}

// ParseProgram reads the ClusterRoles and Roles of a YAML or JSON text, also those in a List. Other
// documents are skipped, but there must be a role. namespace is that of Roles without one.
func ParseProgram(text []byte, namespace string) (*Program, error) {
	r := &roleReader{program: &Program{}, namespace: namespace}
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := docs.Decode(&raw)
		if err == io.EOF {
			break
		}
		if err == nil && len(bytes.TrimSpace(raw)) > 0 && string(raw) != "null" {
			err = r.add(raw, "")
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
	}
	switch {
	case r.roles == 0 && len(r.others) == 0:
		return nil, errors.New("it has no ClusterRole and no Role: it is empty")
	case r.roles == 0:
		return nil, fmt.Errorf("it has no ClusterRole and no Role, but %s", strings.Join(r.others, ", "))
	}
	return r.program, nil
}

// With returns a program with the rules of both. p may be nil.
func (p *Program) With(other *Program) *Program {
	if p == nil {
		return other
	}
	return &Program{rules: slices.Concat(p.rules, other.rules)}
}

// roleReader collects the rules of roles.
type roleReader struct {
	program   *Program
	namespace string
	roles     int
	others    []string // what else there was
}

// add adds the rules of an object if it is a role, or those of the objects of a list. kind is that of an
// object without one.
func (r *roleReader) add(raw []byte, kind string) error {
	var doc struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Rules           json.RawMessage   `json:"rules"`
		AggregationRule any               `json:"aggregationRule"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return errors.New("it is not an object")
	}
	doc.Kind = cmp.Or(doc.Kind, kind)
	if of, list := strings.CutSuffix(doc.Kind, "List"); list {
		for i, item := range doc.Items {
			if err := r.add(item, of); err != nil {
				return fmt.Errorf("item %d: %w", i+1, err)
			}
		}
		if len(doc.Items) == 0 {
			r.others = append(r.others, "an empty "+doc.Kind)
		}
		return nil
	}
	switch doc.Kind {
	case "ClusterRole", "Role":
	case "":
		r.others = append(r.others, "a document without a kind")
		return nil
	default:
		r.others = append(r.others, "a "+doc.Kind)
		return nil
	}
	r.roles++
	var rules []rbacv1.PolicyRule
	if len(doc.Rules) > 0 {
		if err := json.Unmarshal(doc.Rules, &rules); err != nil {
			return fmt.Errorf("%s %s: rules: %w", doc.Kind, doc.Metadata.Name, err)
		}
	}
	of := ""
	if doc.Kind == "Role" {
		if of = cmp.Or(doc.Metadata.Namespace, r.namespace); of == "" {
			return fmt.Errorf("role %s has no namespace: give it by --namespace", doc.Metadata.Name)
		}
	}
	if len(rules) == 0 && doc.AggregationRule != nil {
		return fmt.Errorf("ClusterRole %s gets its rules from other roles: take it from the cluster, by kubectl get clusterrole %[1]s -o yaml", doc.Metadata.Name)
	}
	for _, x := range rules {
		r.program.rules = append(r.program.rules, rule{of, x})
	}
	return nil
}

// Scope is which objects of a kind a program holds.
type Scope struct {
	// Namespaces are those of the objects; nil: all.
	Namespaces []string
}

// scope returns what the program may both list and watch of a kind; false: nothing.
func (p *Program) scope(r Resource) (Scope, bool) {
	may := func(namespace string) bool {
		return p.grants(namespace, "list", r.GVR.GroupResource()) && p.grants(namespace, "watch", r.GVR.GroupResource())
	}
	if may("") {
		return Scope{}, true
	}
	var s Scope
	for _, of := range p.rules {
		if r.Namespaced && of.namespace != "" && !slices.Contains(s.Namespaces, of.namespace) && may(of.namespace) {
			s.Namespaces = append(s.Namespaces, of.namespace)
		}
	}
	slices.Sort(s.Namespaces)
	return s, len(s.Namespaces) > 0
}

// grants reports whether a rule for all namespaces, or for this one, grants a verb on all objects of
// a resource.
func (p *Program) grants(namespace, verb string, gr schema.GroupResource) bool {
	return slices.ContainsFunc(p.rules, func(r rule) bool {
		return (r.namespace == "" || r.namespace == namespace) && len(r.ResourceNames) == 0 && r.is(verb, gr)
	})
}

// is reports whether the rule grants a verb on some objects of a resource.
func (r *rule) is(verb string, gr schema.GroupResource) bool {
	return has(r.Verbs, verb) && has(r.APIGroups, gr.Group) && has(r.Resources, gr.Resource)
}

// why returns the reason why scope finds nothing of a kind, though the rules let the program list or
// watch some of it. It is nil if they do not.
func (p *Program) why(r Resource) error {
	var list, watch, whole, all bool
	for _, of := range p.rules {
		lists, watches := of.is("list", r.GVR.GroupResource()), of.is("watch", r.GVR.GroupResource())
		list, watch = list || lists, watch || watches
		if lists || watches {
			whole = whole || len(of.ResourceNames) == 0
			all = all || of.namespace == ""
		}
	}
	switch {
	case !list && !watch:
		return nil
	case !watch:
		return errors.New("the roles permit list without watch")
	case !list:
		return errors.New("the roles permit watch without list")
	case !all && !r.Namespaced:
		return errors.New("the objects are in no namespace, and only a Role permits them")
	case !whole:
		return errors.New("the roles permit single objects only (resourceNames)")
	}
	return errors.New("no namespace has both list and watch by the roles")
}

// mentions reports whether a rule lets the program list or watch something of a group.
func (p *Program) mentions(group string) bool {
	return slices.ContainsFunc(p.rules, func(r rule) bool {
		return has(r.APIGroups, group) && (has(r.Verbs, "list") || has(r.Verbs, "watch"))
	})
}

// has reports whether a list of a rule has a name, or all of them.
func has(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, "*")
}

// alternatives are a resource in each of the groups that a rule has beside it. In a rule for several
// groups, the group that has the resource counts.
type alternatives []schema.GroupResource

func (n alternatives) String() string {
	var text []string
	for _, gr := range n {
		text = append(text, gr.String())
	}
	return strings.Join(text, " or ")
}

// named returns the resources that the rules name and that scope finds something of, in order.
func (p *Program) named() (all []alternatives) {
	for _, r := range p.rules {
		for _, resource := range r.Resources {
			if resource == "*" || strings.Contains(resource, "/") || slices.Contains(r.APIGroups, "*") {
				continue
			}
			var some alternatives
			for _, group := range r.APIGroups {
				gr := schema.GroupResource{Group: group, Resource: resource}
				if _, ok := p.scope(Resource{GVR: gr.WithVersion(""), Namespaced: true}); ok {
					some = append(some, gr)
				}
			}
			if len(some) > 0 && !slices.ContainsFunc(all, func(n alternatives) bool { return slices.Equal(n, some) }) {
				all = append(all, some)
			}
		}
	}
	return all
}
