package adopt

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// fakeRuntime is a module as small as code that makes controllers needs controller-runtime.
var fakeRuntime = map[string]string{
	"fake/go.mod": "module " + ctrlPath + "\n\ngo 1.24\n",
	"fake/alias.go": `package controllerruntime
		import "` + ctrlPath + `/pkg/builder"
		type Manager any
		type Options struct{}
		var NewControllerManagedBy = builder.ControllerManagedBy
		func NewManager(any, Options) (Manager, error) { return nil, nil }`,
	"fake/pkg/controller/controller.go": `package controller
		type Reconciler any
		type Controller interface{ Watch(any) error }
		type TypedOptions[R comparable] struct { Reconciler Reconciler; MaxConcurrentReconciles int }
		type Options = TypedOptions[int]
		func New(string, any, Options) (Controller, error) { return nil, nil }
		func NewUnmanaged(string, Options) (Controller, error) { return nil, nil }
		func NewTyped[R comparable](string, any, TypedOptions[R]) (Controller, error) { return nil, nil }`,
	"fake/pkg/builder/builder.go": `package builder
		type Builder struct{}
		func ControllerManagedBy(any) *Builder { return nil }
		func (b *Builder) For(any) *Builder { return b }
		func (b *Builder) Named(string) *Builder { return b }
		func (b *Builder) Complete(any) error { return nil }`,
}

// makesController draws declarations that make a controller of a name.
func makesController(r *rand.Rand, n int, name string) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	said, more := fmt.Sprintf("%q", name), ""
	switch r.IntN(4) {
	case 0:
		said, more = fmt.Sprintf("name%d", n), fmt.Sprintf("const name%d = %q\n", n, name)
	case 1:
		said = fmt.Sprintf("%q + names.Suffix", strings.TrimSuffix(name, "-controller"))
	}
	literal := pick("controller.Options{Reconciler: r}", "controller.Options{MaxConcurrentReconciles: 2, Reconciler: r}", "(controller.Options{Reconciler: r})")
	before := ""
	switch r.IntN(4) {
	case 0:
		before, literal = "o := "+strings.Trim(literal, "()")+"; ", "o"
	case 1:
		before, literal = "o := controller.Options{}; o.Reconciler = r; ", "o"
	}
	var made string
	switch r.IntN(8) {
	case 0:
		made = fmt.Sprintf("%sc, err := controller.New(%s, mgr, %s); if err != nil { return err }; return c.Watch(nil)", before, said, literal)
	case 1:
		made = fmt.Sprintf("%sif _, err := controller.NewUnmanaged(%s, %s); err != nil { return err }; return nil", before, said, literal)
	case 2:
		made = fmt.Sprintf("_, err := controller.NewTyped[string](%s, mgr, controller.TypedOptions[string]{Reconciler: r}); return err", said)
	case 3:
		made = fmt.Sprintf("for range 2 { %s_, _ = controller.New(%s, mgr, %s) }; return nil", before, said, literal)
	case 4:
		made = fmt.Sprintf("return builder.ControllerManagedBy(mgr).For(T{}).Named(%s).Complete(r)", said)
	case 5:
		made = fmt.Sprintf("b := ctrl.NewControllerManagedBy(mgr).Named(%s); b = b.For(T{}); return b.Complete(r)", said)
	case 6:
		made = fmt.Sprintf("return func() error { %s_, err := controller.New(%s, mgr, %s); return err }()", before, said, literal)
	default:
		made = fmt.Sprintf("var c controller.Controller; var err error; %sc, err = controller.New(%s, mgr, %s); _ = c; return err", before, said, literal)
	}
	switch r.IntN(3) {
	case 0:
		return more + fmt.Sprintf("func add%d(mgr ctrl.Manager, r *R) error { %s }\n", n, made)
	case 1:
		return more + fmt.Sprintf("func (r *R) Add%d(mgr ctrl.Manager) error { %s }\n", n, made)
	}
	return more + fmt.Sprintf("var add%d = func(mgr ctrl.Manager, r *R) error { %s }\n", n, made)
}

// The plan has each controller once, by its name and with its reconciler, however it is made, and none that is not of
// controller-runtime.
func TestEveryControllerIsPlanned(t *testing.T) {
	files := maps.Clone(fakeRuntime)
	files["go.mod"] = "module example.com/m\n\ngo 1.24\n\nrequire " + ctrlPath + " v0.22.4\n\nreplace " + ctrlPath + " => ./fake\n"
	files["main.go"] = "package main\n\nimport ctrl \"" + ctrlPath + "\"\n\nfunc main() { ctrl.NewManager(nil, ctrl.Options{}) }\n"
	files["names/names.go"] = "package names\n\nconst Suffix = \"-controller\"\n"
	files["own/controller/controller.go"] = "package controller\n\nfunc New(string) {}\n"
	files["own/own.go"] = "package own\n\nimport \"example.com/m/own/controller\"\n\nfunc init() { controller.New(\"none\") }\n"
	r := rand.New(rand.NewPCG(1, 2))
	var want []string
	for p := range 30 {
		var b strings.Builder
		local := []string{"", "", "kc"}[r.IntN(3)]
		fmt.Fprintf(&b, "package p\n\nimport (\n\t\"example.com/m/names\"\n\tctrl %q\n\t\"%s/pkg/builder\"\n\t%s \"%s/pkg/controller\"\n)\n\n", ctrlPath, ctrlPath, local, ctrlPath)
		b.WriteString("type T struct{}\ntype R struct{}\nvar _, _, _, _ = names.Suffix, ctrl.NewManager, builder.ControllerManagedBy, controller.New\n")
		for n := range r.IntN(4) {
			name := fmt.Sprintf("p%d-n%d-controller", p, n)
			want = append(want, name)
			b.WriteString(makesController(r, n, name))
		}
		text := b.String()
		if local != "" {
			text = strings.ReplaceAll(text, "controller.", local+".")
		}
		files[fmt.Sprintf("p%d/p.go", p)] = text
		files[fmt.Sprintf("p%d/p_test.go", p)] = strings.Replace(text, "p"+fmt.Sprint(p)+"-", "test-", -1)
	}
	plan, err := MakePlan(t.Context(), writeModule(t, files), "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Problems) > 0 {
		t.Fatal(plan.Problems)
	}
	var got []string
	for _, c := range plan.Controllers {
		got = append(got, c.Name)
		if c.Reconciler != "R" {
			t.Errorf("%s at %s: the reconciler is %q", c.Name, c.At, c.Reconciler)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d controllers, want %d:\n%q\nwant\n%q", len(got), len(want), got, want)
	}
}
