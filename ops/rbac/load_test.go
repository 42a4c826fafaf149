package rbac_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flyball-io/flyball/ops/rbac"
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
		files map[string]string
		want  []string
	}{
		"a folder as kustomize has it": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]", "service_account.yaml": "kind: ServiceAccount", "role.yaml": managerRole, "config.yaml": "nameReference: []\n---\n" + readerRole},
			[]string{"get pods", "get /metrics"},
		},
		"roles that nobody is given": {
			map[string]string{"a.yaml": readerRole + "---\n" + editorRole, "b.yaml": managerRole, "c.yaml": binding + "---\n" + forPeople},
			[]string{"get pods"},
		},
		"a Role is no ClusterRole of this name": {
			map[string]string{"a.yaml": leaseRole, "b.yaml": managerRole, "c.yaml": binding},
			[]string{"get pods"},
		},
		"bound to people only": {
			map[string]string{"a.yaml": editorRole, "b.yaml": forPeople},
			[]string{"delete pods"},
		},
		"what is no role is always meant": {
			map[string]string{"a.yaml": "rules: [{apiGroups: [''], resources: [nodes], verbs: [get]}]", "c.yaml": binding},
			[]string{"get nodes"},
		},
		"rules of another kind": {
			map[string]string{"a.yaml": "kind: Policy\nrules: {a: b}", "b.yaml": managerRole},
			[]string{"get pods"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := folderOf(t, tc.files)
			got, err := rbac.Load(folder)
			if diff := cmp.Diff(tc.want, text(got.Permissions())); err != nil || diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}

	// Bindings may be in another folder than their roles.
	roles, bindings := folderOf(t, map[string]string{"a.yaml": readerRole + "---\n" + managerRole}), folderOf(t, map[string]string{"b.yaml": binding})
	if got, err := rbac.Load(roles, bindings); err != nil || len(got.Permissions()) != 1 {
		t.Errorf("two folders: %v, %v", got.Permissions(), err)
	}
	if got, err := rbac.Load(); err != nil || len(got.Permissions()) > 0 {
		t.Errorf("nothing: %v, %v", got.Permissions(), err)
	}
}

func TestLoadWithoutRulesFails(t *testing.T) {
	none := folderOf(t, map[string]string{"kustomization.yaml": "resources: []"})
	onlyBindings := folderOf(t, map[string]string{"a.yaml": binding})
	role := folderOf(t, map[string]string{"a.yaml": managerRole})
	for _, paths := range [][]string{{none}, {role, none}, {onlyBindings}, {filepath.Join(none, "kustomization.yaml")}} {
		if _, err := rbac.Load(paths...); err == nil || !strings.HasSuffix(err.Error(), "it has no rules") {
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
