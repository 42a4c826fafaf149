package rbac_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/flyball-io/flyball/ops/rbac"
)

// write writes documents as the files of a folder.
func write(t *testing.T, documents ...any) string {
	t.Helper()
	dir := t.TempDir()
	for i, d := range documents {
		data, err := yaml.Marshal(d)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, string(rune('a'+i))+".yaml"), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func clusterRole(name string, change func(*rbacv1.ClusterRole)) *rbacv1.ClusterRole {
	r := &rbacv1.ClusterRole{}
	r.Kind, r.Name = "ClusterRole", name
	change(r)
	return r
}

func boundTo(role string) *rbacv1.ClusterRoleBinding {
	b := &rbacv1.ClusterRoleBinding{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "s"}}}
	b.Kind = "ClusterRoleBinding"
	return b
}

// A folder may have any roles that a cluster takes. What is not bound to a ServiceAccount is left out, whatever it says.
func TestAnyRoleCanBeRead(t *testing.T) {
	odd := map[string]func(*rbacv1.ClusterRole){
		"aggregated": func(r *rbacv1.ClusterRole) {
			r.AggregationRule = &rbacv1.AggregationRule{}
			r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors, *selector("to", "admin"))
		},
		"all": func(r *rbacv1.ClusterRole) { r.Rules = []rbacv1.PolicyRule{rule("*", "*", "*")} },
		"urls": func(r *rbacv1.ClusterRole) {
			r.Rules = []rbacv1.PolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}}
		},
		"empty": func(*rbacv1.ClusterRole) {},
	}
	mine := clusterRole("manager", func(r *rbacv1.ClusterRole) { r.Rules = []rbacv1.PolicyRule{rule("get", "", "pods")} })
	for name, change := range odd {
		got, err := rbac.Granted(write(t, mine, boundTo("manager"), clusterRole("other", change)))
		if err != nil || strings.Join(text(got.Permissions()), ", ") != "get pods" {
			t.Errorf("%s, beside: %v, %v", name, got, err)
		}
		if _, err := rbac.Granted(write(t, mine, clusterRole("other", change))); err != nil {
			t.Errorf("%s, none bound: %v", name, err)
		}
	}
	part := clusterRole("part", func(r *rbacv1.ClusterRole) {
		r.Labels = map[string]string{"to": "admin"}
		r.Rules = []rbacv1.PolicyRule{rule("list", "apps", "deployments")}
	})
	got, err := rbac.Granted(write(t, clusterRole("sum", odd["aggregated"]), boundTo("sum"), part, mine))
	if err != nil || strings.Join(text(got.Permissions()), ", ") != "list deployments.apps" {
		t.Errorf("aggregated: %v, %v", got, err)
	}
	if _, err := rbac.Granted(write(t, clusterRole("sum", odd["aggregated"]), boundTo("sum"), mine)); err == nil || !strings.Contains(err.Error(), "none of them is here") {
		t.Errorf("aggregated from nothing: %v", err)
	}
	if _, err := rbac.Load(write(t, clusterRole("other", odd["all"]))); err == nil {
		t.Error(`needed rules with a "*" were taken`)
	}
}

// What a "*" covers is what an API server grants by it; the "*" itself is in excess.
func TestWildcardsGrantWhatTheyCover(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	for range 400 {
		have := rule(pick("*", "get", "list"), pick("*", "", "apps"), pick("*", "pods", "*/status", "pods/status", "deployments"))
		need := rbac.Permission{Verb: pick("get", "list"), Group: pick("", "apps"), Resource: pick("pods", "pods/status", "deployments", "deployments/status")}
		granted, err := rbac.Granted(write(t, clusterRole("r", func(c *rbacv1.ClusterRole) { c.Rules = []rbacv1.PolicyRule{have} })))
		if err != nil {
			t.Fatal(err)
		}
		_, sub, _ := strings.Cut(need.Resource, "/")
		want := (have.Verbs[0] == "*" || have.Verbs[0] == need.Verb) && (have.APIGroups[0] == "*" || have.APIGroups[0] == need.Group) &&
			(have.Resources[0] == "*" || have.Resources[0] == need.Resource || sub != "" && have.Resources[0] == "*/"+sub)
		missing, excess := rbac.Missing(granted, rbac.Of(need)), rbac.Excess(granted, rbac.Of(need))
		wild := strings.Contains(have.Verbs[0]+have.APIGroups[0]+have.Resources[0], "*")
		if (len(missing) == 0) != want || (len(excess) == 0) != (want && !wild) {
			t.Fatalf("%v for %v: missing %v, excess %v", have, need, missing, excess)
		}
	}
}

func rule(verb, group, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
}

func selector(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}
