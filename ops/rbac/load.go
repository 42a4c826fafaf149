package rbac

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"
)

var errNoRules = errors.New("it has no rules")

// Load reads rules from files: the output of recorders, or roles (see [Parse]). Of a folder it
// reads all files that end in .json, .yaml or .yml. It skips files without rules, such as a
// kustomization, but each path must have some rules. Errors name the file. No paths have no rules.
func Load(paths ...string) (Rules, error) { return load(false, paths) }

// Granted reads what roles grant, to compare it with what is needed. It is [Load], but takes a "*", which covers what it
// stands for. Such a permission is in excess of all needed ones.
func Granted(paths ...string) (Rules, error) { return load(true, paths) }

func load(wild bool, paths []string) (Rules, error) {
	c := contents{wild: wild}
	for _, path := range paths {
		files, err := ruleFiles(path)
		if err != nil {
			return Rules{}, err
		}
		before := len(c.roles) + len(c.bound)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return Rules{}, err
			}
			if err := c.read(file+": ", text); err != nil {
				return Rules{}, err
			}
		}
		if len(c.roles)+len(c.bound) == before {
			return Rules{}, fmt.Errorf("%s: %w", path, errNoRules)
		}
	}
	if len(paths) == 0 {
		return Rules{}, nil
	}
	return c.rules()
}

// Parse reads the rules of all roles in a text: YAML or JSON documents of kind Role or ClusterRole,
// or without a kind, as a [Recorder] saves them. If bindings name a ServiceAccount, only the roles of
// these bindings count: other roles are for people or other programs. Other documents are skipped.
//
// A role with an aggregationRule grants what the other roles grant that it selects, as in a cluster. It
// is an error if none of them is here. So are rules with a "*"; see [Granted].
func Parse(text []byte) (Rules, error) {
	var c contents
	if err := c.read("", text); err != nil {
		return Rules{}, err
	}
	return c.rules()
}

// contents holds the RBAC objects of the files.
type contents struct {
	wild  bool // a "*" is no error
	roles []role
	bound []string // names of roles, with their kind, in bindings to a ServiceAccount
}

type role struct {
	name      string // with its kind: "ClusterRole manager-role"; empty for rules without a role
	where     string // names the document in errors
	labels    labels.Set
	rules     []rbacv1.PolicyRule
	aggregate *rbacv1.AggregationRule
}

// ruleFiles returns the files of a folder that may have rules, or the file itself.
func ruleFiles(path string) ([]string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}, nil // reading it returns the error
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && slices.Contains([]string{".json", ".yaml", ".yml"}, ext) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: the folder has no .json or .yaml file", path)
	}
	return files, nil
}

// rules returns the rules of the bound roles, or of all if none is bound, and all rules without a
// role. Other roles are not looked at.
func (c *contents) rules() (Rules, error) {
	if len(c.roles) == 0 {
		return Rules{}, errNoRules
	}
	var all []Permission
	for _, r := range c.roles {
		if len(c.bound) > 0 && r.name != "" && !slices.Contains(c.bound, r.name) {
			continue
		}
		granted, err := c.permissions(r)
		if err != nil {
			return Rules{}, fmt.Errorf("%s: %w", r.where, err)
		}
		all = append(all, granted...)
	}
	return Of(all...), nil
}

// permissions returns what a role grants: of an aggregated one, what those grant that it selects.
func (c *contents) permissions(r role) ([]Permission, error) {
	if r.aggregate == nil {
		return permissionsOf(r.rules, c.wild)
	}
	var rules []rbacv1.PolicyRule
	found := false
	for _, s := range r.aggregate.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&s)
		if err != nil {
			return nil, fmt.Errorf("aggregationRule: %w", err)
		}
		for _, other := range c.roles {
			if other.aggregate == nil && strings.HasPrefix(other.name, "ClusterRole ") && selector.Matches(other.labels) {
				found = true
				rules = append(rules, other.rules...)
			}
		}
	}
	if !found && len(c.bound) > 0 {
		return nil, errors.New("its rules are aggregated from other roles, and none of them is here: load those roles, too")
	}
	return permissionsOf(rules, c.wild)
}

// read adds the objects of a text. Errors begin with the prefix.
func (c *contents) read(prefix string, text []byte) error {
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := docs.Decode(&raw)
		if err == io.EOF {
			return nil
		}
		if err == nil && len(bytes.TrimSpace(raw)) > 0 {
			err = c.document(prefix, fmt.Sprintf("document %d", n), raw)
		} else if err != nil {
			err = fmt.Errorf("%sdocument %d: %w", prefix, n, err)
		}
		if err != nil {
			return err
		}
	}
}

func (c *contents) document(prefix, where string, raw json.RawMessage) error {
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name   string     `json:"name"`
			Labels labels.Set `json:"labels"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("%s%s: %w", prefix, where, err)
	}
	name := ""
	if where = prefix + where; head.Metadata.Name != "" {
		where = prefix + head.Kind + " " + head.Metadata.Name
	}
	switch head.Kind {
	case "RoleBinding", "ClusterRoleBinding":
		var b struct {
			RoleRef  rbacv1.RoleRef   `json:"roleRef"`
			Subjects []rbacv1.Subject `json:"subjects"`
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Kind == rbacv1.ServiceAccountKind }) {
			c.bound = append(c.bound, b.RoleRef.Kind+" "+b.RoleRef.Name)
		}
		return nil
	case "Role", "ClusterRole":
		name = head.Kind + " " + head.Metadata.Name
	case "":
	default:
		return nil
	}
	var doc struct {
		Rules           []rbacv1.PolicyRule     `json:"rules"`
		AggregationRule *rbacv1.AggregationRule `json:"aggregationRule"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if name == "" && doc.Rules == nil {
		return nil
	}
	c.roles = append(c.roles, role{name, where, head.Metadata.Labels, doc.Rules, doc.AggregationRule})
	return nil
}

// permissionsOf returns the permissions of a role. It rejects a "*" unless wild is set, a required list that is empty,
// and a rule with both resources and URLs.
func permissionsOf(rules []rbacv1.PolicyRule, wild bool) (all []Permission, err error) {
	for i, r := range rules {
		if err := check(r, wild); err != nil {
			return nil, fmt.Errorf("rules[%d].%w", i, err)
		}
		for _, verb := range r.Verbs {
			for _, url := range r.NonResourceURLs {
				all = append(all, Permission{Verb: verb, URL: url})
			}
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					p := Permission{Verb: verb, Group: group, Resource: resource}
					if len(r.ResourceNames) == 0 {
						all = append(all, p)
					}
					for _, p.Name = range r.ResourceNames {
						all = append(all, p)
					}
				}
			}
		}
	}
	return all, nil
}

func check(r rbacv1.PolicyRule, wild bool) error {
	fields := []struct {
		name   string
		values []string
	}{{"verbs", r.Verbs}, {"apiGroups", r.APIGroups}, {"resources", r.Resources}, {"nonResourceURLs", r.NonResourceURLs}, {"resourceNames", r.ResourceNames}}
	for _, f := range fields {
		for _, v := range f.values {
			switch {
			case wild && f.name != "resourceNames" && strings.Contains(v, "*"):
			case f.name == "nonResourceURLs" && strings.HasSuffix(v, "*"), v == "*", f.name == "resources" && strings.Contains(v, "*"):
				return fmt.Errorf("%s: %q grants what nobody has named: name it", f.name, v)
			case v == "" && f.name != "apiGroups":
				return fmt.Errorf("%s: has an empty name", f.name)
			}
		}
	}
	urls := len(r.NonResourceURLs) > 0
	switch {
	case len(r.Verbs) == 0:
		return errors.New("verbs: is empty")
	case urls && (len(r.APIGroups) > 0 || len(r.Resources) > 0 || len(r.ResourceNames) > 0):
		return errors.New("nonResourceURLs: stand beside resources")
	case !urls && len(r.APIGroups) == 0:
		return errors.New(`apiGroups: is empty: the core group is ""`)
	case !urls && len(r.Resources) == 0:
		return errors.New("resources: is empty")
	}
	return nil
}
