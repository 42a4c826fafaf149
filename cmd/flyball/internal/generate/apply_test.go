package generate

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// A package that asks for apply configurations gets them. They build, and go with the marker.
func TestApplyConfigurations(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "shop.txtar")
	o := Options{Dir: dir, HeaderFile: "hack/boilerplate.go.txt"}
	apply(t, Code, o)
	edit(t, dir, "api/v1/groupversion.go", "// +groupName=shop.example.com\n", "// +groupName=shop.example.com\n// +kubebuilder:ac:generate=true\n")
	plan := apply(t, Code, o)
	var files []string
	for _, f := range plan.Write {
		if !strings.HasPrefix(string(f.Data), "// Copyright YEAR The Shop.\n") || !codeMarkLine.Match(f.Data) {
			t.Errorf("%s begins with %.100s", f.Path, f.Data)
		}
		files = append(files, f.Path)
	}
	const order = "api/v1/applyconfiguration/api/v1/order.go"
	if !slices.Contains(files, order) {
		t.Fatalf("files %q, want %s among them", files, order)
	}
	write(t, dir, "use/use.go", []byte(`package use

import ac "example.com/shop/api/v1/applyconfiguration/api/v1"

var Order = ac.Order("name", "namespace").WithSpec(ac.OrderSpec().WithSize(3))
`))
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "./use")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	again := apply(t, All, o)
	if again.Compiles {
		t.Error("All says that it checked whether all compiles, with the apply configurations")
	}
	if len(again.Remove) > 0 || slices.ContainsFunc(again.Write, func(f File) bool { return strings.HasSuffix(f.Path, ".go") }) {
		t.Errorf("once more: of the code it writes or removes some of %q", again.Paths())
	}
	if err := os.RemoveAll(filepath.Join(dir, "use")); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, "api/v1/groupversion.go", "// +kubebuilder:ac:generate=true\n", "")
	apply(t, Code, o)
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(order))); !os.IsNotExist(err) {
		t.Errorf("%s without the marker: %v", order, err)
	}
}

// In a namespaced project all rules but those for URLs are in a Role, beside what has its namespace.
func TestNamespacedRules(t *testing.T) {
	rule := func(resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Resources: []string{resource}}
	}
	urls := rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}}
	cluster, own, other := rbacv1.ClusterRole{}, rbacv1.Role{}, rbacv1.Role{}
	cluster.Name, own.Name, other.Name = "r", "r", "r"
	cluster.Rules, own.Rules, other.Rules = []rbacv1.PolicyRule{rule("a"), urls}, []rbacv1.PolicyRule{rule("b")}, []rbacv1.PolicyRule{rule("c")}
	own.Namespace, other.Namespace = "system", "other"
	for _, objects := range [][]any{{cluster, own, other}, {cluster, other}} {
		out := namespaced(objects, "system")
		var in []string
		for _, o := range out {
			switch o := o.(type) {
			case rbacv1.ClusterRole:
				if len(o.Rules) != 1 || o.Rules[0].NonResourceURLs == nil {
					t.Errorf("ClusterRole: %+v", o.Rules)
				}
			case rbacv1.Role:
				for _, r := range o.Rules {
					in = append(in, o.Namespace+"/"+r.Resources[0])
				}
			}
		}
		slices.Sort(in)
		want := []string{"other/c", "system/a", "system/b"}
		if len(objects) == 2 {
			want = want[:2]
		}
		if !slices.Equal(in, want) {
			t.Errorf("%q, want %q", in, want)
		}
	}
}

// Webhooks of kinds of Kubernetes are not called for the namespaces that must always work, and those
// of a namespaced project for its own only.
func TestSelection(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		o    Options
		want map[string]string // by group: operator and namespaces
	}{
		{Options{}, map[string]string{"": "", "apps": "", "shop.example.com": ""}},
		{Options{HookNamespace: "system"}, map[string]string{"": "NotIn kube-system,system", "*": "NotIn kube-system,system", "networking.k8s.io": "NotIn kube-system,system", "shop.example.com": ""}},
		{Options{HookNamespace: "system", RoleNamespace: "system"}, map[string]string{"": "In system", "shop.example.com": "In system"}},
	} {
		for group, want := range test.want {
			got := ""
			if s := (&project{Options: test.o}).selection(ruleOf(group)); s != nil {
				got = string(s.MatchExpressions[0].Operator) + " " + strings.Join(s.MatchExpressions[0].Values, ",")
			}
			if got != want {
				t.Errorf("%+v, group %q: %q, want %q", test.o, group, got, want)
			}
		}
	}
}

func ruleOf(group string) []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{Rule: admissionv1.Rule{APIGroups: []string{group}}}}
}
