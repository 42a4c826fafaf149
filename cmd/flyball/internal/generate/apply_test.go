package generate

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/flyball-io/flyball/internal/tier"
)

// A package that asks for apply configurations gets them. They build, and go with the marker.
func TestApplyConfigurations(t *testing.T) {
	tier.Audit(t, "runs the go command")
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
	for _, declared := range []string{
		`var GroupVersion = schema.GroupVersion{Group: "shop.example.com", Version: "v1"}`,
		`var SchemeGroupVersion = schema.GroupVersion{Group: "shop.example.com", Version: "v1"}`,
		"var (\n\tSchemeGroupVersion = schema.GroupVersion{Group: \"shop.example.com\", Version: \"v1\"}\n\tGroupVersion = SchemeGroupVersion\n)",
	} {
		const was = `var GroupVersion = schema.GroupVersion{Group: "shop.example.com", Version: "v1"}`
		edit(t, dir, "api/v1/groupversion.go", was, declared)
		apply(t, Code, o)
		build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "./use", "./api/v1/...")
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", declared, err, out)
		}
		edit(t, dir, "api/v1/groupversion.go", declared, was)
	}
	edit(t, dir, "api/v1/groupversion.go", "var GroupVersion", "var Version")
	if _, err := Code(t.Context(), o); err == nil || !strings.Contains(err.Error(), "api/v1/groupversion.go: +kubebuilder:ac:generate: apply configurations need the group and version") {
		t.Errorf("without a group and version: %v", err)
	}
	edit(t, dir, "api/v1/groupversion.go", "var Version", "var GroupVersion")
	apply(t, Code, o)
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
