package rbac

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Load reads rules from files: the output of recorders, or roles (see [Parse]). Of a folder it
// reads all files that end in .json, .yaml or .yml. It skips files without rules, such as a
// kustomization, but each path must have some rules. Errors name the file.
func Load(paths ...string) (Rules, error) {
	f, err := load(paths)
	if err != nil || len(paths) == 0 {
		return Rules{}, err
	}
	return f.rules(nil)
}

// LoadBound returns the rules that files with roles and bindings grant to a program. It reads the
// files as [Load] does. If a binding names a ServiceAccount, only roles that such bindings name
// count. The other roles are for people, or for other programs.
func LoadBound(paths ...string) (Rules, error) {
	f, err := load(paths)
	if err != nil || len(paths) == 0 {
		return Rules{}, err
	}
	return f.rules(f.bound)
}

// contents holds the RBAC objects of the files.
type contents struct {
	roles []role
	bound []string // names of roles, with their kind, in bindings to a ServiceAccount
}

type role struct {
	name  string // with its kind: "ClusterRole manager-role"; empty for rules without a role
	rules Rules
}

func load(paths []string) (*contents, error) {
	f := &contents{}
	for _, path := range paths {
		files, err := ruleFiles(path)
		if err != nil {
			return nil, err
		}
		before := len(f.roles) + len(f.bound)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			if err := f.read(text); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		if len(f.roles)+len(f.bound) == before {
			return nil, fmt.Errorf("%s: %w", path, ErrNoRules)
		}
	}
	return f, nil
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

// rules returns the rules of the named roles, and all rules without a role. No names means all
// roles.
func (f *contents) rules(names []string) (Rules, error) {
	if len(f.roles) == 0 {
		return Rules{}, ErrNoRules
	}
	var all []Rules
	for _, r := range f.roles {
		if len(names) == 0 || r.name == "" || slices.Contains(names, r.name) {
			all = append(all, r.rules)
		}
	}
	return Union(all...), nil
}

// read adds the objects of a text.
func (f *contents) read(text []byte) error {
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := docs.Decode(&raw)
		if err == io.EOF {
			return nil
		}
		if err == nil && len(bytes.TrimSpace(raw)) > 0 {
			err = f.document(fmt.Sprintf("document %d", n), raw)
		} else if err != nil {
			err = fmt.Errorf("document %d: %w", n, err)
		}
		if err != nil {
			return err
		}
	}
}

func (f *contents) document(where string, raw json.RawMessage) error {
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	name := ""
	if head.Metadata.Name != "" {
		where = head.Kind + " " + head.Metadata.Name
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
			f.bound = append(f.bound, b.RoleRef.Kind+" "+b.RoleRef.Name)
		}
		return nil
	case "Role", "ClusterRole":
		name = head.Kind + " " + head.Metadata.Name
	case "":
	default:
		return nil
	}
	var doc struct {
		Rules           []rbacv1.PolicyRule `json:"rules"`
		AggregationRule json.RawMessage     `json:"aggregationRule"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	switch {
	case len(doc.AggregationRule) > 0 && string(doc.AggregationRule) != "null":
		return fmt.Errorf("%s: its rules are aggregated from other roles: load those roles", where)
	case name == "" && doc.Rules == nil:
		return nil
	}
	rules, err := New(doc.Rules...)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	f.roles = append(f.roles, role{name, rules})
	return nil
}
