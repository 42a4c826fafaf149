package plane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/tier"
)

// files writes a directory with the given files.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// module is a program that stands in for the control plane.
var module = map[string]string{
	"go.mod":                    "module github.com/flyball-io/flyball\n\ngo 1.26\n",
	"deep/er/go.mod":            "module github.com/flyball-io/flyball/deep\n",
	"controlplane/go.mod":       "module x\n\ngo 1.26\n",
	"controlplane/main.go":      "package main\n\nfunc main() {}\n",
	"controlplane/main_test.go": "package main\n",
	"controlplane/README.md":    "Read me.\n",
}

func TestSourceIsFoundInTheCheckout(t *testing.T) {
	tier.Audit(t, "runs the go command")
	dir := files(t, module)
	requires := "module x\n\nrequire (\n\tk8s.io/kubernetes v1.36.3\n)\n"
	if err := os.WriteFile(filepath.Join(dir, "controlplane", "go.mod"), []byte(requires), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(dir, "deep", "er"))
	got, err := findSource(t.Context(), program{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := filepath.EvalSymlinks(filepath.Join(dir, "controlplane"))
	if err != nil {
		t.Fatal(err)
	}
	if dir, _ := filepath.EvalSymlinks(got.dir); dir != want || got.kubernetes != "v1.36.3" {
		t.Errorf("got %+v, want %s at v1.36.3", got, want)
	}

	// Elsewhere it is the checkout that this package was compiled from.
	t.Chdir(t.TempDir())
	if got, err = findSource(t.Context(), program{}); err != nil || filepath.Base(got.dir) != "controlplane" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestHashCoversAllInputs(t *testing.T) {
	hash := func(dir string, extra ...string) string {
		t.Helper()
		sum, err := source{dir: filepath.Join(dir, "controlplane")}.hash(extra...)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := hash(files(t, module))
	for name, same := range map[string]bool{
		"controlplane/main.go":      false,
		"controlplane/go.mod":       false,
		"controlplane/sub/x.go":     false,
		"controlplane/main_test.go": true,
		"controlplane/README.md":    true,
	} {
		dir := files(t, module)
		if again := hash(dir); again != first {
			t.Errorf("the same files elsewhere give %s, not %s", again, first)
		}
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("changed"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := hash(dir) == first; got != same {
			t.Errorf("changed %s: same hash %v, want %v", name, got, same)
		}
	}
	for _, p := range []program{{}, rulesProgram} {
		sum := func(extra map[string]string) string {
			t.Helper()
			all := maps.Clone(module)
			maps.Copy(all, extra)
			sum, err := source{dir: filepath.Join(files(t, all), "controlplane"), program: p}.hash()
			if err != nil {
				t.Fatal(err)
			}
			return sum
		}
		for name, mine := range map[string]bool{"rules/a.go": p == rulesProgram, "b.go": p != rulesProgram, "go.sum": true} {
			if got := sum(map[string]string{"controlplane/" + name: "new"}) != sum(nil); got != mine {
				t.Errorf("%s: a new %s changes the hash: %v, want %v", p.name(), name, got, mine)
			}
		}
	}
	if hash(files(t, module), "go1") == hash(files(t, module), "go2") {
		t.Error("another Go gives the same hash")
	}
}

func TestBuildReportsProgress(t *testing.T) {
	tier.Audit(t, "runs the go command")
	dir := files(t, module)
	src := source{dir: filepath.Join(dir, "controlplane"), kubernetes: "v1.2.3"}
	binary := filepath.Join(dir, "built")
	var progress bytes.Buffer
	if err := src.build(t.Context(), binary, src.linkFlags(), &progress); err != nil {
		t.Fatal(err)
	}
	if !usable(binary) {
		t.Error("no program was built")
	}
	for _, want := range []string{"building etcd, Kubernetes v1.2.3 and kwok", "5 to 9 minutes", "packages to compile: 1", "built in"} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("progress does not say %q: %s", want, &progress)
		}
	}

	broken := filepath.Join(src.dir, "main.go")
	if err := os.WriteFile(broken, []byte("package main\n\nfunc main() { nonsense }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := src.build(t.Context(), filepath.Join(dir, "other"), "", &progress)
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("got error %v, want what the compiler said", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "other*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A package has to be compiled if the build cache does not have it.
func TestToCompileCountsUncachedPackages(t *testing.T) {
	tier.Audit(t, "runs the go command")
	// The module has a new name each time, so the build cache does not have it.
	mod := fmt.Sprintf("example.com/m%d", time.Now().UnixNano())
	dir := files(t, map[string]string{
		"go.mod":        "module " + mod + "\n\ngo 1.26\n",
		"main.go":       "package main\n\nimport (\n\t\"strings\"\n\n\t\"" + mod + "/b\"\n)\n\nfunc main() { println(strings.ToUpper(b.B)) }\n",
		"a/a.go":        "package a\n\nconst A = \"a\"\n",
		"b/b.go":        "package b\n\nimport \"" + mod + "/a\"\n\nconst B = a.A\n",
		"unused/u.go":   "package unused\n",
		"b/b_test.go":   "package b\n\nimport _ \"testing\"\n",
		"a/a_other.go":  "//go:build other\n\npackage a\n",
		"b/b_plan9.go":  "package b\n\nimport _ \"not/there\"\n",
		"b/testdata/x":  "# not/a/package\n",
		"unused/u.yaml": "# not/a/package\n",
	})
	src := source{dir: dir}
	args := []string{"-o", filepath.Join(dir, "built"), "."}
	compile := func(pkg string) {
		t.Helper()
		if out, err := src.goCommand(t.Context(), "build", pkg).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	compile("strings")
	if got := src.toCompile(t.Context(), args); got != 3 {
		t.Errorf("nothing of the module is compiled: got %d packages, want 3", got)
	}
	compile("./a")
	if got := src.toCompile(t.Context(), args); got != 2 {
		t.Errorf("a is compiled: got %d packages, want 2", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("no Go"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := src.toCompile(t.Context(), args); got != 0 {
		t.Errorf("main does not parse: got %d packages, want 0: not known", got)
	}
}

// The control plane is built for this machine, also in tests that are built for another
// architecture.
func TestBuildIsForTheHost(t *testing.T) {
	tier.Audit(t, "runs the go command")
	t.Setenv("GOOS", "plan9")
	t.Setenv("GOARCH", "386")
	src := source{dir: files(t, map[string]string{"go.mod": "module x\n"})}
	if err := src.forHost(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := src.goCommand(t.Context(), "env", "GOOS", "GOHOSTOS", "GOARCH", "GOHOSTARCH").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(out)); got[0] != got[1] || got[2] != got[3] {
		t.Errorf("built for %s/%s, want that of this machine, %s/%s", got[0], got[2], got[1], got[3])
	}
}

func TestProgressOfABuild(t *testing.T) {
	for _, x := range []struct {
		n, total int
		want     string
	}{
		{0, 1242, "0 of 1242 packages compiled"},
		{423, 1242, "423 of 1242 packages compiled"},
		{1243, 1242, "1243 of 1243 packages compiled"}, // the cache lost one meanwhile
		{12, 0, "12 packages compiled"},
	} {
		if got := compiled(x.n, x.total); got != x.want {
			t.Errorf("compiled(%d, %d) = %q, want %q", x.n, x.total, got, x.want)
		}
	}
}

func TestLinkFlagsSetTheVersion(t *testing.T) {
	got := source{kubernetes: "v1.36.3"}.linkFlags()
	for _, want := range []string{".gitVersion=v1.36.3", ".gitMajor=1 ", ".gitMinor=36"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

func TestLockWaitsUntilItIsFree(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	var progress bytes.Buffer
	unlock, err := lock(t.Context(), name, &progress)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := lock(ctx, name, &progress); !errors.Is(err, cause) {
		t.Errorf("got error %v, want %v", err, cause)
	}
	if !strings.Contains(progress.String(), "another process is building it") {
		t.Errorf("progress: %q", &progress)
	}
	unlock()
	if unlock, err = lock(t.Context(), name, &progress); err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestPruneKeepsTheLastUsed(t *testing.T) {
	dir := files(t, map[string]string{
		"controlplane-1": "", "controlplane-2": "", "controlplane-3": "", "controlplane-4": "", "controlplane-5": "", "lock": "",
		"kubernetes-v1.33.13-1": "",
	})
	for i, name := range []string{"3", "1", "5", "2", "4"} { // most recently used first
		used := time.Now().Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, "controlplane-"+name), used, used); err != nil {
			t.Fatal(err)
		}
	}
	if err := prune(filepath.Join(dir, "controlplane-"), 3); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range left {
		names = append(names, filepath.Base(name))
	}
	if got, want := strings.Join(names, " "), "controlplane-1 controlplane-3 controlplane-5 kubernetes-v1.33.13-1 lock"; got != want {
		t.Errorf("left %s, want %s", got, want)
	}
}
