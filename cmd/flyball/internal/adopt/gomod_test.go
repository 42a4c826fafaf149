package adopt

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
)

func parsed(t *testing.T, text string) *modfile.File {
	t.Helper()
	mod, err := modfile.Parse("go.mod", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return mod
}

const needs = "module m\ngo 1.26.0\nrequire (\n\tk8s.io/api v0.34.2\n\tsigs.k8s.io/controller-runtime v0.22.1\n)\n"

func TestVersions(t *testing.T) {
	a := &adapter{needs: parsed(t, needs)}
	for name, test := range map[string]struct{ mod, want string }{
		"the same":              {needs, ""},
		"earlier":               {"module p\ngo 1.24.0\nrequire (\n\tk8s.io/api v0.31.0\n\tsigs.k8s.io/controller-runtime v0.19.0\n)\n", ""}, // raised
		"replaced by a version": {"module p\ngo 1.26.0\nrequire k8s.io/api v0.37.0\nreplace k8s.io/api => k8s.io/api v0.33.1\n", ""},         // raised
		"a fork":                {"module p\ngo 1.26.0\nrequire k8s.io/api v0.37.0\nreplace k8s.io/api => a.b/api v0.33.1\n", "\n  go.mod:4: it replaces k8s.io/api by a.b/api v0.33.1, and the packed cache needs v0.34.2 or later: replace it by a later version, or remove the directive"},
		"a fork of that":        {"module p\nrequire k8s.io/api v0.32.0\nreplace k8s.io/api v0.32.0 => a.b/api v0.33.1\n", "\n  go.mod:3: it replaces k8s.io/api by a.b/api"},
		"another one replaced":  {"module p\ngo 1.26.0\nrequire k8s.io/api v0.37.0\nreplace k8s.io/api v0.36.0 => a.b/api v0.33.1\n", ""},
		"a later fork":          {"module p\ngo 1.26.0\nrequire k8s.io/api v0.33.0\nreplace k8s.io/api => a.b/api v0.37.0\n", ""},
		"replaced by a folder":  {"module p\ngo 1.26.0\nrequire k8s.io/api v0.33.0\nreplace k8s.io/api => ../api\n", ""},
		"another module":        {"module p\ngo 1.26.0\nrequire k8s.io/apiserver v0.33.0\nreplace k8s.io/apiserver => a.b/c v0.1.0\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := a.check("go.mod", parsed(t, test.mod))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// A go.mod of any versions ends with what the adapter needs, and the Kubernetes libraries with one minor version. Nothing
// falls, what a folder or a fork replaces stays, and each version that has risen is named once.
func TestVersionsRise(t *testing.T) {
	a := &adapter{&scaffold.Source{Version: "v0.1.0"}, parsed(t, "module m\ngo 1.26.0\nrequire (\n\tk8s.io/api v0.34.1\n\tk8s.io/apimachinery v0.34.1\n\tk8s.io/client-go v0.34.1\n\tsigs.k8s.io/controller-runtime v0.22.4\n)\n")}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		minor := 30 + r.IntN(8)
		k8s, runtime := fmt.Sprintf("v0.%d.%d", minor, r.IntN(5)), fmt.Sprintf("v0.%d.%d", minor-12, r.IntN(5))
		var text strings.Builder
		fmt.Fprintf(&text, "module p\ngo 1.%d.%d\n", 23+r.IntN(5), r.IntN(3))
		if r.IntN(3) == 0 {
			fmt.Fprintf(&text, "toolchain go1.%d.9\n", 25+r.IntN(3))
		}
		fmt.Fprintf(&text, "require sigs.k8s.io/controller-runtime %s\nrequire k8s.io/apimachinery %s\nrequire k8s.io/klog/v2 v2.130.1\nrequire k8s.io/utils v0.0.0-20250604170112-4c0f3b243397\n", runtime, k8s)
		fixed := map[string]string{}
		for _, path := range []string{"k8s.io/api", "k8s.io/client-go", "k8s.io/apiserver", "k8s.io/metrics"} {
			if r.IntN(4) == 0 {
				continue
			}
			fmt.Fprintf(&text, "require %s %s%s\n", path, k8s, []string{"", " // indirect"}[r.IntN(2)])
			switch r.IntN(6) {
			case 0:
				fmt.Fprintf(&text, "replace %s => %s %s\n", path, path, k8s)
			case 1:
				fmt.Fprintf(&text, "replace %s => ../%s\n", path, path)
				fixed[path] = "../" + path
			case 2:
				fmt.Fprintf(&text, "replace %s => a.b/fork v9.0.0\n", path)
				fixed[path] = "a.b/fork"
			}
		}
		before := parsed(t, text.String())
		if err := a.check("go.mod", before); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, &text)
		}
		data, err := a.add([]byte(text.String()))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, &text)
		}
		after := parsed(t, string(data))
		said, err := lifts(before, data)
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]int{}
		for _, l := range said {
			named[l.What]++
		}
		if scaffold.CompareGo(scaffold.GoVersion(after), "1.26.0") < 0 || (named["go"] == 1) != (scaffold.GoVersion(after) != scaffold.GoVersion(before)) || (named["toolchain"] == 1) != (before.Toolchain != nil && after.Toolchain == nil) {
			t.Fatalf("seed %d: go %s, before %s, %v", seed, scaffold.GoVersion(after), scaffold.GoVersion(before), said)
		}
		for _, old := range before.Require {
			path, was, is := old.Mod.Path, old.Mod.Version, scaffold.Required(after, old.Mod.Path)
			if semver.Compare(was, is) > 0 || (named[path] == 1) != (was != is) {
				t.Fatalf("seed %d: %s %s, before %s, %v", seed, path, is, was, said)
			}
			if by := fixed[path]; by != "" {
				if !slices.ContainsFunc(after.Replace, func(r *modfile.Replace) bool { return r.Old.Path == path && r.New.Path == by }) {
					t.Fatalf("seed %d: %s is not replaced by %s any more\n%s", seed, path, by, data)
				}
				continue
			}
			least := map[bool]string{true: "v0.34.1", false: was}[strings.HasPrefix(was, "v0.3") && minor < 34]
			if path == ctrlPath && minor < 34 {
				least = "v0.22.4"
			}
			if got := effective(after, path); semver.Compare(got, least) < 0 {
				t.Fatalf("seed %d: %s is %s, and must be %s at least\n%s", seed, path, got, least, data)
			}
		}
		if again, err := a.add(data); err != nil || string(again) != string(data) || libraries(said) != (minor < 34) {
			t.Fatalf("seed %d: %v, %v\n%s\nagain:\n%s", seed, said, err, data, again)
		}
	}
}

// What is added to a go.mod goes away to the byte.
func TestModUndone(t *testing.T) {
	for _, before := range []string{
		"module p\n\ngo 1.26.0\n",
		"module p\n\ngo 1.26.0\n\nrequire sigs.k8s.io/controller-runtime v0.22.0\n\nreplace k8s.io/api => ../api\n",
		"module p\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/api v0.34.2\n\tsigs.k8s.io/controller-runtime v0.22.0\n)\n",
	} {
		a := &adapter{&scaffold.Source{Dir: "/flyball", From: "/flyball"}, parsed(t, needs)}
		after, err := a.add([]byte(before))
		if err != nil {
			t.Fatal(err)
		}
		mod := parsed(t, string(after))
		if scaffold.Required(mod, adapterPath) == "" || scaffold.Required(mod, corePath) == "" || !strings.Contains(string(after), adapterPath+" => /flyball/adapter") {
			t.Errorf("it lacks the module:\n%s", after)
		}
		back, err := dropAdapter(after, false)
		if err != nil {
			t.Fatal(err)
		}
		if string(back) != before {
			t.Errorf("undone:\n%s\nbefore:\n%s", back, before)
		}
		kept, err := dropAdapter(after, true)
		if err != nil {
			t.Fatal(err)
		}
		if mod := parsed(t, string(kept)); scaffold.Required(mod, adapterPath) != "" || scaffold.Required(mod, corePath) == "" {
			t.Errorf("the core should stay, and the adapter go:\n%s", kept)
		}
	}
}

func TestFindAssets(t *testing.T) {
	dir := t.TempDir()
	if got := findAssets(dir); got != "" && got != "/usr/local/kubebuilder/bin" {
		t.Errorf("found %s in nothing", got)
	}
	for _, name := range []string{"bin/k8s/1.33.0-linux-amd64", "bin/k8s/1.34.1-linux-amd64"} {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(full, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(full, "kube-apiserver"), nil, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := findAssets(dir), filepath.Join(dir, "bin", "k8s", "1.34.1-linux-amd64"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The Go version rises to what the module needs, and never falls. What has risen is said, and nothing else.
func TestLifts(t *testing.T) {
	a := &adapter{&scaffold.Source{Dir: "/flyball", From: "/flyball"}, parsed(t, needs)}
	for name, test := range map[string]struct{ mod, goes, toolchain, notes string }{
		"later":                {"module p\ngo 1.27.1\ntoolchain go1.27.3\n", "1.27.1", "go1.27.3", ""},
		"the same":             {"module p\ngo 1.26\n", "1.26", "", ""},
		"earlier":              {"module p\ngo 1.25.7\n", "1.26.0", "", "go 1.25.7 to 1.26.0"},
		"none":                 {"module p\n", "1.26.0", "", "go 1.16 to 1.26.0"},
		"an earlier toolchain": {"module p\ngo 1.25.0\ntoolchain go1.25.9\n", "1.26.0", "", "go 1.25.0 to 1.26.0; toolchain go1.25.9 away"},
		"a later toolchain":    {"module p\ngo 1.25.0\ntoolchain go1.26.8\n", "1.26.0", "go1.26.8", "go 1.25.0 to 1.26.0"},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := a.add([]byte(test.mod))
			if err != nil {
				t.Fatal(err)
			}
			mod, toolchain := parsed(t, string(after)), ""
			if mod.Toolchain != nil {
				toolchain = mod.Toolchain.Name
			}
			notes, err := lifts(parsed(t, test.mod), after)
			if err != nil || scaffold.GoVersion(mod) != test.goes || toolchain != test.toolchain || shown(notes) != test.notes {
				t.Errorf("%q, %v\n%s", notes, err, after)
			}
		})
	}
	before := parsed(t, "module p\ngo 1.26.0\nrequire (\n\ta.b/c v1.2.3\n\ta.b/d v1.0.0\n\ta.b/e v1.0.0 // indirect\n\ta.b/f v1.0.0 // indirect\n)\n")
	notes, err := lifts(before, []byte("module p\ngo 1.26.0\nrequire (\n\ta.b/c v1.2.4\n\ta.b/d v1.0.0\n\ta.b/e v1.1.0 // indirect\n\ta.b/f v1.2.0 // indirect\n\ta.b/g v1.0.0\n)\n"))
	if want := "a.b/c v1.2.3 to v1.2.4; a.b/e v1.0.0 to v1.1.0 (indirect); a.b/f v1.0.0 to v1.2.0 (indirect)"; err != nil || shown(notes) != want {
		t.Errorf("%q, %v", notes, err)
	}
}

// A command that compiles says what it is at by its last whole line. What it says of packages is no error.
func TestCompilingTells(t *testing.T) {
	for out, want := range map[string]string{
		"": "", "a": "", "\n": "", "a.b/c\n": ", a.b/c", "a.b/c\na.b/d\n": ", a.b/d", "a.b/c\nhalf": ", a.b/c",
		"go: downloading a.b/c v1.0.0\n": ", downloading a.b/c v1.0.0", strings.Repeat("x", 200) + "\n": ", " + strings.Repeat("x", 100),
	} {
		if got := lastLine([]byte(out)); got != want {
			t.Errorf("%q: %q, want %q", out, got, want)
		}
	}
	const broken = "# a.b/c\n./c.go:1:2: undefined: x\n\thave (int)\n"
	if got := compiled.ReplaceAllString("internal/abi\na.b/go-x/v2.1\n"+broken+"time\n", ""); got != broken {
		t.Errorf("%q", got)
	}
}

// shown joins what lifts are shown as.
func shown(all []Lift) string {
	var out []string
	for _, l := range all {
		out = append(out, l.String())
	}
	return strings.Join(out, "; ")
}

// Whatever a Go command says around its errors, a failure begins with the first one.
func TestCausesComeFirst(t *testing.T) {
	fetched := []string{"go: downloading a.b/c v1.0.0", "go: finding module for package x", "go: found x in a.b/c v1.0.0", "go: added a.b/c v1.0.0", "go: upgraded a.b/d v1.0.0 => v1.0.1"}
	for name, test := range map[string]struct{ errors, first string }{
		"one":      {"go: a.b/c@v1.0.0: no", "a.b/c@v1.0.0: no"},
		"a chain":  {"go: a.b/p imports\n\ta.b/q tested by\n\ta.b/q.test imports\n\ta.b/r: no such module", "a.b/r: no such module"},
		"chains":   {"go: a.b/p imports\n\ta.b/q: no\ngo: a.b/p imports\n\ta.b/r: never", "a.b/q: no"},
		"compiler": {"# a.b/p\n./p.go:1:2: undefined: x\n./p.go:3:4: undefined: y", "./p.go:1:2: undefined: x"},
		"vet":      {"# a.b/p\n# [a.b/p]\nvet: ./p.go:1:2: undefined: x", "vet: ./p.go:1:2: undefined: x"},
		"nothing":  {"", "exit status 1"},
	} {
		for seed := range uint64(50) {
			r := rand.New(rand.NewPCG(seed, 0))
			var out []string
			noise := func() {
				for range r.IntN(4) {
					out = append(out, fetched[r.IntN(len(fetched))])
				}
			}
			noise()
			for i, line := range strings.Split(test.errors, "\n") {
				if i > 0 && !strings.HasPrefix(line, "\t") {
					noise()
				}
				out = append(out, line)
			}
			noise()
			e := &FailedError{When: "before", Step: "go mod tidy", Output: causes(strings.Join(out, "\n")), Err: errors.New("exit status 1")}
			got := e.Error()
			if want := "the project as it is, without any change, fails at go mod tidy: " + test.first; strings.SplitN(got, "\n", 2)[0] != want || strings.Contains(got, "downloading") {
				t.Fatalf("%s, seed %d: %q\nof %q", name, seed, got, out)
			}
		}
	}
}
