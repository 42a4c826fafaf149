package rbac_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flyball-io/flyball/rbac"
)

// folderOf returns a folder with a file for each text, by name.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const (
	managerRole = "kind: ClusterRole\nmetadata: {name: manager}\nrules:\n- {apiGroups: [''], resources: [pods], verbs: [get]}\n"
	leaseRole   = "kind: Role\nmetadata: {name: manager}\nrules:\n- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}\n"
	readerRole  = "kind: ClusterRole\nmetadata: {name: reader}\nrules:\n- {nonResourceURLs: [/metrics], verbs: [get]}\n"
	editorRole  = "kind: ClusterRole\nmetadata: {name: editor}\nrules:\n- {apiGroups: [''], resources: [pods], verbs: [delete]}\n"
	binding     = "kind: ClusterRoleBinding\nroleRef: {kind: ClusterRole, name: manager}\nsubjects: [{kind: ServiceAccount, name: a}]\n"
	forPeople   = "kind: ClusterRoleBinding\nroleRef: {kind: ClusterRole, name: editor}\nsubjects: [{kind: Group, name: a}]\n"
)

func TestLoadReadsRolesAndBindings(t *testing.T) {
	for name, tc := range map[string]struct {
		files      map[string]string
		all, bound []string
	}{
		"a folder as kustomize has it": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]", "service_account.yaml": "kind: ServiceAccount", "role.yaml": managerRole, "config.yaml": "nameReference: []\n---\n" + readerRole},
			[]string{"get pods", "get /metrics"}, []string{"get pods", "get /metrics"},
		},
		"roles that nobody is given": {
			map[string]string{"a.yaml": readerRole + "---\n" + editorRole, "b.yaml": managerRole, "c.yaml": binding + "---\n" + forPeople},
			[]string{"get pods", "delete pods", "get /metrics"}, []string{"get pods"},
		},
		"a Role is no ClusterRole of this name": {
			map[string]string{"a.yaml": leaseRole, "b.yaml": managerRole, "c.yaml": binding},
			[]string{"get pods", "get leases.coordination.k8s.io"}, []string{"get pods"},
		},
		"bound to people only": {
			map[string]string{"a.yaml": editorRole, "b.yaml": forPeople},
			[]string{"delete pods"}, []string{"delete pods"},
		},
		"what is no role is always meant": {
			map[string]string{"a.yaml": "rules: [{apiGroups: [''], resources: [nodes], verbs: [get]}]", "c.yaml": binding},
			[]string{"get nodes"}, []string{"get nodes"},
		},
		"rules of another kind": {
			map[string]string{"a.yaml": "kind: Policy\nrules: {a: b}", "b.yaml": managerRole},
			[]string{"get pods"}, []string{"get pods"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := folderOf(t, tc.files)
			for want, load := range map[*[]string]func(...string) (rbac.Rules, error){&tc.all: rbac.Load, &tc.bound: rbac.LoadBound} {
				got, err := load(folder)
				if diff := cmp.Diff(*want, text(got.Permissions())); err != nil || diff != "" {
					t.Errorf("%v: %s", err, diff)
				}
			}
		})
	}

	// Bindings may be in another folder than their roles.
	roles, bindings := folderOf(t, map[string]string{"a.yaml": readerRole + "---\n" + managerRole}), folderOf(t, map[string]string{"b.yaml": binding})
	if got, err := rbac.LoadBound(roles, bindings); err != nil || len(got.Permissions()) != 1 {
		t.Errorf("two folders: %v, %v", got.Permissions(), err)
	}
	if got, err := rbac.LoadBound(); err != nil || !got.Empty() {
		t.Errorf("nothing: %v, %v", got.Permissions(), err)
	}
}

func TestLoadWithoutRulesFails(t *testing.T) {
	none := folderOf(t, map[string]string{"kustomization.yaml": "resources: []"})
	onlyBindings := folderOf(t, map[string]string{"a.yaml": binding})
	role := folderOf(t, map[string]string{"a.yaml": managerRole})
	for _, paths := range [][]string{{none}, {role, none}, {onlyBindings}, {filepath.Join(none, "kustomization.yaml")}} {
		if _, err := rbac.LoadBound(paths...); !errors.Is(err, rbac.ErrNoRules) {
			t.Errorf("%v: got %v", paths, err)
		}
	}
	for text, want := range map[string]string{
		"kind: ClusterRoleBinding\nmetadata: {name: b}\nsubjects: 1": "ClusterRoleBinding b: ",
		"metadata: 1": "document 1: ",
		managerRole + "---\nkind: ClusterRole\nmetadata: {name: r}\nrules: [{verbs: ['*']}]": "ClusterRole r: rules[0].verbs",
	} {
		folder := folderOf(t, map[string]string{"a.yaml": text})
		if _, err := rbac.Load(folder); err == nil || !strings.HasPrefix(err.Error(), filepath.Join(folder, "a.yaml")+": "+want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestNarrowedTakesNamesFromTheRole(t *testing.T) {
	have := must(t, rule("", "secrets", "get", "a", "b"), rule("", "secrets", "create delete"), rule("", "pods", "get"), rule("", "nodes", "list", "a"))
	need := must(t, rule("", "secrets", "get create update"), rule("", "pods", "get"), rule("", "nodes", "get"), rule("", "configmaps", "get", "c"))
	got := rbac.Narrowed(need, have)
	want := must(t, rule("", "secrets", "get", "a", "b"), rule("", "secrets", "create update"), rule("", "pods", "get"), rule("", "nodes", "get"), rule("", "configmaps", "get", "c"))
	if diff := cmp.Diff(want.Permissions(), got.Permissions()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`get configmaps "c"`, "get nodes", "update secrets"}, text(rbac.Missing(have, got))); diff != "" {
		t.Errorf("missing: %s", diff)
	}
	if diff := cmp.Diff([]string{`list nodes "a"`, "delete secrets"}, text(rbac.Excess(have, got))); diff != "" {
		t.Errorf("excess: %s", diff)
	}
	// Narrowed leaves two kinds of permissions alone: those needed by name, and those certainly
	// needed for all objects.
	if missing := rbac.Missing(have, rbac.Union(got, must(t, rule("", "secrets", "get")))); len(missing) != 4 {
		t.Errorf("missing: %v", missing)
	}
}
