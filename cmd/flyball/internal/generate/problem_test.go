package generate

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/tools/go/packages"
)

// TestProblems runs wrong projects. Every problem is reported, with the warnings, and no file is touched.
func TestProblems(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join("testdata", "problems", "*.txtar"))
	if err != nil || len(names) < 6 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			archive := filepath.Join("problems", filepath.Base(name))
			dir := newProject(t, archive)
			before := state(t, dir)
			a := readArchive(t, archive)
			run := Manifests
			if strings.TrimSpace(string(a.Comment)) == "generate" {
				run = Code
			}
			plan, err := run(t.Context(), Options{Dir: dir})
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("%+v, %v; want problems", plan, err)
			}
			if len(plan.Paths()) > 0 {
				t.Errorf("%v would be written or removed", plan.Paths())
			}
			got := strings.ReplaceAll(problems.Error(), dir, "DIR") + "\n"
			for _, w := range plan.Warnings {
				got += "warning: " + w.String() + "\n"
			}
			want := &a.Files[len(a.Files)-1]
			if want.Name != "problems" {
				t.Fatalf("the last file is %s", want.Name)
			}
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got != string(want.Data) {
				t.Errorf("problems\n%s\nwant\n%s", got, want.Data)
			}
			if after := state(t, dir); !maps.Equal(before, after) {
				t.Errorf("touched %v", difference(before, after))
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "shop.txtar")
	edit(t, dir, "api/v1/order.go", "// +flyball:conversion=webhook\n", "")
	edit(t, dir, "internal/controller/order.go", "resources=orders,verbs=get;list;watch", "resources=orders,verbs=*")
	plan, err := Manifests(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range plan.Warnings {
		got = append(got, w.String())
	}
	if len(got) != 2 || !strings.HasPrefix(got[1], `internal/controller/order.go:11:4: +kubebuilder:rbac: grants more`) ||
		!strings.Contains(got[0], "versions v1 and v2 differ and nothing converts between them") {
		t.Errorf("warnings:\n%s", strings.Join(got, "\n"))
	}
}

func TestHeader(t *testing.T) {
	dir := newProject(t, "shop.txtar")
	for name, text := range map[string]string{"go": "package main\n", "open": "/* no end", "text": "Copyright\n"} {
		write(t, dir, name, []byte(text))
		if plan, err := Code(t.Context(), Options{Dir: dir, HeaderFile: name, Paths: []string{"./internal/..."}}); err == nil {
			t.Errorf("%s: %+v, want an error", name, plan)
		}
	}
	if _, err := Code(t.Context(), Options{Dir: dir, HeaderFile: "missing"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestParsePosition(t *testing.T) {
	p := &project{Options: Options{Dir: "/p"}}
	for in, want := range map[string]string{
		"/p/a.go:1:2": "a.go:1:2", "/p/a.go:1": "a.go:1", "/p/a.go": "a.go", "/q/a.go:3:4": "/q/a.go:3:4", "": "", "-": "", "id:-": "", "/p/c:d.go:7:8": "c:d.go:7:8",
	} {
		if got := p.parsePosition(in).String(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestOutputOfGo(t *testing.T) {
	p := &project{Options: Options{Dir: "/p"}}
	pkgs := []*packages.Package{
		{PkgPath: "x/y", Errors: []packages.Error{{Msg: "# x/y\n/p/y/y.go:1:2: wrong\nno place at all", Kind: packages.ListError}}},
		{PkgPath: "x/z", Errors: []packages.Error{{Pos: "/p/z.go:9", Msg: "said better", Kind: packages.TypeError}, {Msg: "# x/z", Kind: packages.ListError}}},
	}
	if got := p.packageErrors(pkgs).Error(); got != "y/y.go:1:2: wrong\nx/y: no place at all\nz.go:9: said better" {
		t.Errorf("%q", got)
	}
	if got := p.packageErrors(pkgs[1:], packages.TypeError); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestNearest(t *testing.T) {
	r, err := newRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"kubebuilder:validation:Minimun": "kubebuilder:validation:Minimum",
		"kubebuilder:printcolum:name":    "kubebuilder:printcolumn",
		"kubebuilder:storageVersion":     "kubebuilder:storageversion",
		"flyball:convertion":             "flyball:conversion",
		"kubebuilder:quitedifferent":     "",
	} {
		if got, _ := nearest(r, in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "ab", 2}, {"abc", "abd", 1}, {"abc", "bc", 1}, {"kitten", "sitting", 3}} {
		if got := distance(x.a, x.b); got != x.want {
			t.Errorf("%q %q: %d, want %d", x.a, x.b, got, x.want)
		}
	}
}
