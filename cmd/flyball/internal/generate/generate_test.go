package generate

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "shop.txtar")
	plan := apply(t, All, Options{Dir: dir, HeaderFile: "hack/boilerplate.go.txt", Year: "2026"})
	got := &txtar.Archive{Comment: []byte("What is generated from shop.txtar.\n")}
	for _, f := range plan.Write {
		onDisk, err := os.ReadFile(filepath.Join(dir, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		got.Files = append(got.Files, txtar.File{Name: f.Path, Data: onDisk})
	}
	golden := filepath.Join("testdata", "shop.golden.txtar")
	if *update {
		if err := os.WriteFile(golden, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := readArchive(t, "shop.golden.txtar")
	if len(got.Files) != len(want.Files) {
		t.Errorf("%d files, want %d", len(got.Files), len(want.Files))
	}
	for i, w := range want.Files[:min(len(got.Files), len(want.Files))] {
		g := got.Files[i]
		if g.Name != w.Name || string(g.Data) != string(w.Data) {
			t.Errorf("file %d is %s:\n%s\nwant %s:\n%s", i, g.Name, g.Data, w.Name, w.Data)
		}
	}
	for _, w := range plan.Warnings {
		t.Errorf("warning: %v", w)
	}
}

// TestBeside checks the warnings of a second definition of a kind, and of roles without a binding.
func TestBeside(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "shop.txtar")
	if err := os.Remove(filepath.Join(dir, "config/rbac/role_binding.yaml")); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: dir}
	apply(t, Manifests, o)
	about := func() (second, unbound []string) {
		t.Helper()
		plan, err := Manifests(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range plan.Warnings {
			if strings.Contains(w.Message, "keep one of them") {
				second = append(second, w.String())
			} else {
				unbound = append(unbound, w.String())
			}
		}
		return second, unbound
	}
	second, unbound := about()
	if len(second) > 0 || len(unbound) == 0 || !strings.Contains(unbound[0], "config/rbac/role.yaml: nothing below config binds the ClusterRole manager-role") {
		t.Errorf("alone: %q, %q", second, unbound)
	}
	bases, err := filepath.Glob(filepath.Join(dir, "config/crd/bases/*.yaml"))
	if err != nil || len(bases) == 0 {
		t.Fatal(bases, err)
	}
	text, err := os.ReadFile(bases[0])
	if err != nil {
		t.Fatal(err)
	}
	_, definition, _ := strings.Cut(string(text), "\n") // without the mark
	name := strings.TrimSpace(definition[strings.Index(definition, "\n  name: ")+len("\n  name: "):][:strings.Index(definition[strings.Index(definition, "\n  name: ")+1:], "\n")-len("  name: ")])
	write(t, dir, "config/crd/patches/conversion.yaml", []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "+name+"}\nspec: {conversion: {strategy: None}}\n"))
	write(t, dir, "config/template.yaml", []byte("{{ .Values.x }}\n"))
	write(t, dir, "config/rbac/bindings.yaml", []byte("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: other}\nroleRef: {kind: ClusterRole, name: other}\n"))
	if second, unbound = about(); len(second) > 0 || len(unbound) == 0 {
		t.Errorf("with a patch and another binding: %q, %q", second, unbound)
	}
	write(t, dir, "config/crd/mine.yaml", []byte("# mine\n---\n"+definition))
	write(t, dir, "config/rbac/bindings.yaml", []byte("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: manager}\nroleRef: {kind: ClusterRole, name: manager-role}\n"))
	second, unbound = about()
	if len(second) != 1 || !strings.Contains(second[0], "config/crd/mine.yaml: defines CustomResourceDefinition "+name) || !strings.Contains(second[0], relative(dir, bases[0])) {
		t.Errorf("beside a definition by hand: %q", second)
	}
	for _, w := range unbound {
		if strings.Contains(w, "ClusterRole manager-role") {
			t.Errorf("bound, and yet: %s", w)
		}
	}
}

// TestRemovedMarkers adds and removes the markers of one project.
func TestRemovedMarkers(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "shop.txtar")
	o := Options{Dir: dir}
	apply(t, All, o)

	before := state(t, dir)
	if plan := apply(t, All, o); !plan.UpToDate() || len(plan.Unchanged) != 2+4 {
		t.Errorf("second run: %+v", plan)
	}
	if after := state(t, dir); !maps.Equal(before, after) {
		t.Errorf("the second run touched %v", difference(before, after))
	}

	const crd, role, hooks = "config/crd/bases/shop.example.com_orders.yaml", "config/rbac/role.yaml", "config/webhook/manifests.yaml"
	type change struct{ file, old, replacement string }
	for _, step := range []struct {
		name    string
		changes []change
		gone    []string // from the written files
		write   []string
		remove  []string
	}{
		{"some", []change{
			{"api/v1/order.go", "// +kubebuilder:validation:Maximum=10\n", "\n"},
			{"api/v2/order.go", "// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`\n", ""},
			{"api/v2/order.go", "// +kubebuilder:subresource:scale:specpath=.spec.count,statuspath=.status.size,selectorpath=.status.selector\n", ""},
			{"api/v1/order.go", "// +flyball:conversion=webhook\n", ""},
			{"internal/controller/order.go", "// +kubebuilder:rbac:groups=core,resources=configmaps,verbs=get,namespace=shop\n", ""},
			{"internal/webhook/order.go", "// +kubebuilder:webhook:path=/mutate", "// webhook:path=/mutate"},
		}, []string{"maximum: 10", "specReplicasPath: .spec.count", "conversion:", "/convert", "kind: Role\n", "MutatingWebhookConfiguration"},
			[]string{crd, role, hooks}, nil},
		{"whole files", []change{
			{"internal/webhook/order.go", "// +kubebuilder:webhook:path=/validate", "// webhook:path=/validate"},
			{"internal/controller/order.go", "// +kubebuilder:rbac:", "// rbac:"},
			{"api/v2/order.go", "// +kubebuilder:object:root=true\n", "// +kubebuilder:object:root=true\n// +kubebuilder:skipversion\n"},
			{"api/v1/shelf.go", "	metav1.ObjectMeta `json:\"metadata,omitempty\"`\n", ""},
			{"api/v1/shelf.go", "// +kubebuilder:object:root=true", "// "},
			{"api/v1/shelf.go", "// +kubebuilder:resource:", "// "},
			{"api/v1/shelf.go", "// +kubebuilder:metadata:", "// "},
			{"api/v1/shelf.go", "// +kubebuilder:deprecatedversion", "// "},
			{"api/v1/shelf.go", "// +kubebuilder:selectablefield", "// "},
		}, []string{"verbs:", "name: v2"}, []string{crd, role}, []string{"config/crd/bases/shop.example.com_shelves.yaml", hooks}},
		{"all kinds", []change{{"api/v1/groupversion.go", "// +groupName=shop.example.com\n", "// +kubebuilder:skip\n"}}, nil, nil, []string{crd}},
	} {
		for _, c := range step.changes {
			edit(t, dir, c.file, c.old, c.replacement)
		}
		plan := apply(t, Manifests, o)
		var wrote []string
		for _, f := range plan.Write {
			wrote = append(wrote, f.Path)
			for _, text := range step.gone {
				if strings.Contains(string(f.Data), text) {
					t.Errorf("%s: %s still has %q", step.name, f.Path, text)
				}
			}
		}
		if !slices.Equal(wrote, step.write) || !slices.Equal(plan.Remove, step.remove) {
			t.Errorf("%s: wrote %v, removed %v; want %v, %v", step.name, wrote, plan.Remove, step.write, step.remove)
		}
		for _, path := range step.remove {
			if _, err := os.Stat(filepath.Join(dir, path)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s is still there: %v", step.name, path, err)
			}
		}
	}

	edit(t, dir, "api/v2/order.go", "// +kubebuilder:object:root=true\n", "")
	edit(t, dir, "api/v2/order.go", "var _ runtime.Object = &Order{}", "var _ runtime.Object")
	edit(t, dir, "api/v2/groupversion.go", "// +kubebuilder:object:generate=true\n", "")
	if plan := apply(t, Code, o); !slices.Equal(plan.Remove, []string{"api/v2/zz_generated.deepcopy.go"}) {
		t.Errorf("removed %v", plan.Remove)
	}
}

func difference(a, b map[string]string) (out []string) {
	for k := range b {
		if a[k] != b[k] {
			out = append(out, k)
		}
	}
	return out
}

// TestForeignFiles checks that files from other sources stay unchanged.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "shop.txtar")
	for _, name := range []string{
		"config/crd/bases/theirs.yaml", "config/webhook/manifests.yaml", "internal/controller/zz_generated.deepcopy.go", "config/crd/bases/notes.txt",
	} {
		text := "# mine\n"
		if strings.HasSuffix(name, ".go") {
			text = "package controller\n"
		}
		write(t, dir, name, []byte(text))
	}
	edit(t, dir, "internal/webhook/order.go", "+kubebuilder:webhook", "")
	write(t, dir, "config/crd/bases/old.yaml", []byte(yamlMark+"\n---\n"))
	if plan := apply(t, All, Options{Dir: dir}); !slices.Equal(plan.Remove, []string{"config/crd/bases/old.yaml"}) {
		t.Errorf("removed %v", plan.Remove)
	}
}

// TestSomePaths checks that files of packages that were not read are not removed.
func TestSomePaths(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "shop.txtar")
	o := Options{Dir: dir}
	apply(t, All, o)
	o.Paths = []string{"./internal/...", "example.com/shop/api/v1"}
	if plan := apply(t, All, o); len(plan.Remove) > 0 || len(plan.Write) != 1 {
		t.Errorf("removed %v, wrote %d; want the CRD of v1 alone", plan.Remove, len(plan.Write))
	}
	for _, paths := range [][]string{{"../..."}, {"./none"}, {"k8s.io/api/core/v1"}, {"./config"}} {
		o.Paths = paths
		if plan, err := Code(t.Context(), o); err == nil {
			t.Errorf("%v: %+v, want an error", paths, plan)
		}
	}
}

func TestNoModule(t *testing.T) {
	if _, err := Code(t.Context(), Options{Dir: t.TempDir()}); !errors.Is(err, ErrNoModule) {
		t.Errorf("%v, want ErrNoModule", err)
	}
}

func TestCancelled(t *testing.T) {
	dir := newProject(t, "shop.txtar")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Manifests(ctx, Options{Dir: dir}); err == nil {
		t.Error("no error")
	}
}

// TestApplyFails checks that all files stay unchanged if one cannot be written.
func TestApplyFails(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", []byte("old"))
	write(t, dir, "b/x", nil)
	before := state(t, dir)
	p := &Plan{Root: dir, Write: []File{{"a", []byte("new")}, {"c/d", []byte("new")}, {"b", []byte("new")}}}
	if err := p.Apply(); err == nil || !strings.HasPrefix(err.Error(), "b: ") {
		t.Errorf("error %v, want one about b", err)
	}
	if after := state(t, dir); !maps.Equal(before, after) {
		t.Errorf("left behind: %v", difference(before, after))
	}
	if err := os.Chmod(filepath.Join(dir, "a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&Plan{Root: dir, Write: p.Write[:2], Remove: []string{"b/x", "never"}}).Apply(); err != nil {
		t.Fatal(err)
	}
	after := slices.Sorted(maps.Keys(state(t, dir)))
	if info, err := os.Stat(filepath.Join(dir, "a")); err != nil || info.Mode() != 0o600 || !slices.Equal(after, []string{"a", "c/d"}) {
		t.Errorf("files %v, mode %v, %v", after, info.Mode(), err)
	}
}

// TestApplyThroughLink checks that a link is kept and its target is written.
func TestApplyThroughLink(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "shared/role.yaml", []byte("old"))
	write(t, dir, "config/.keep", nil)
	for link, to := range map[string]string{"config/role.yaml": "../shared/role.yaml", "config/crd": "../shared"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := &Plan{Root: dir, Write: []File{{"config/crd/x.yaml", []byte("x")}, {"config/role.yaml", []byte("new")}}}
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.Readlink(filepath.Join(dir, "config/role.yaml")); got != "../shared/role.yaml" {
		t.Errorf("the link is now %q, %v", got, err)
	}
	for name, want := range map[string]string{"shared/role.yaml": "new", "shared/x.yaml": "x"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v, want %q", name, data, err, want)
		}
	}
}

// TestDescriptions checks the bound of descriptions, and the report of a definition that is too
// large.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "shop.txtar")
	o := Options{Dir: dir}
	long := strings.Repeat("// It is said again and again, at great length and without any need at all.\n", 4000)
	edit(t, dir, "api/v1/shelf.go", "// Shelf is a place for things.\n", "// Shelf is a place for things.\n"+long)
	plan := apply(t, Manifests, o)
	if len(plan.Warnings) != 1 || !strings.Contains(plan.Warnings[0].String(), "config/crd/bases/shop.example.com_shelves.yaml: CRD shelves.shop.example.com has 2") ||
		!strings.Contains(plan.Warnings[0].Message, "262144 is the most") {
		t.Errorf("warnings %v", plan.Warnings)
	}
	for _, most := range []int{40, 0} {
		o.MaxDescription = &most
		plan := apply(t, Manifests, o)
		if len(plan.Warnings) != 0 || len(plan.Write) != 2 {
			t.Errorf("at %d: warnings %v, %d files written", most, plan.Warnings, len(plan.Write))
		}
		for _, f := range plan.Write {
			if has := strings.Contains(string(f.Data), "description: "); has != (most > 0) {
				t.Errorf("at %d: descriptions in %s: %v", most, f.Path, has)
			}
		}
	}
}
