package adopt

import (
	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
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
		"later":                 {"module p\ngo 1.27\nrequire (\n\tk8s.io/api v0.37.0\n\tsigs.k8s.io/controller-runtime v0.25.0\n)\n", ""},
		"an earlier patch":      {"module p\ngo 1.26.0\nrequire (\n\tk8s.io/api v0.34.0\n\tsigs.k8s.io/controller-runtime v0.22.0\n)\n", ""},
		"go without a patch":    {"module p\ngo 1.26\nrequire sigs.k8s.io/controller-runtime v0.22.0\n", ""},
		"an earlier runtime":    {"module p\ngo 1.26.0\nrequire sigs.k8s.io/controller-runtime v0.21.4\n", "requires sigs.k8s.io/controller-runtime v0.21.4, and the packed cache needs v0.22.1"},
		"an earlier go":         {"module p\ngo 1.25.3\nrequire sigs.k8s.io/controller-runtime v0.22.0\n", ""}, // lifted
		"replaced by a version": {"module p\ngo 1.26.0\nrequire k8s.io/api v0.37.0\nreplace k8s.io/api => k8s.io/api v0.33.1\n", "replaces k8s.io/api v0.33.1, and the packed cache needs v0.34.2 or later: remove the replace directive"},
		"another one replaced":  {"module p\ngo 1.26.0\nrequire k8s.io/api v0.37.0\nreplace k8s.io/api v0.36.0 => k8s.io/api v0.33.1\n", ""},
		"replaced by a later":   {"module p\ngo 1.26.0\nrequire k8s.io/api v0.33.0\nreplace k8s.io/api => k8s.io/api v0.37.0\n", ""},
		"replaced by a folder":  {"module p\ngo 1.26.0\nrequire k8s.io/api v0.33.0\nreplace k8s.io/api => ../api\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := a.check("go.mod", parsed(t, test.mod))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
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
		if version(mod, adapterPath) == "" || version(mod, corePath) == "" || !strings.Contains(string(after), adapterPath+" => /flyball/adapter") {
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
		if mod := parsed(t, string(kept)); version(mod, adapterPath) != "" || version(mod, corePath) == "" {
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
		"earlier":              {"module p\ngo 1.25.7\n", "1.26.0", "", "go.mod says go 1.26.0, before 1.25.7: Flyball needs that Go, and so do your CI and images now"},
		"none":                 {"module p\n", "1.26.0", "", "go.mod says go 1.26.0, before 1.16: Flyball needs that Go, and so do your CI and images now"},
		"an earlier toolchain": {"module p\ngo 1.25.0\ntoolchain go1.25.9\n", "1.26.0", "", "go.mod says go 1.26.0, before 1.25.0: Flyball needs that Go, and so do your CI and images now"},
		"a later toolchain":    {"module p\ngo 1.25.0\ntoolchain go1.26.8\n", "1.26.0", "go1.26.8", "go.mod says go 1.26.0, before 1.25.0: Flyball needs that Go, and so do your CI and images now"},
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
			if err != nil || goVersion(mod) != test.goes || toolchain != test.toolchain || strings.Join(notes, "; ") != test.notes {
				t.Errorf("%q, %v\n%s", notes, err, after)
			}
		})
	}
	before := parsed(t, "module p\ngo 1.26.0\nrequire (\n\ta.b/c v1.2.3\n\ta.b/d v1.0.0\n\ta.b/e v1.0.0 // indirect\n\ta.b/f v1.0.0 // indirect\n)\n")
	notes, err := lifts(before, []byte("module p\ngo 1.26.0\nrequire (\n\ta.b/c v1.2.4\n\ta.b/d v1.0.0\n\ta.b/e v1.1.0 // indirect\n\ta.b/f v1.2.0 // indirect\n\ta.b/g v1.0.0\n)\n"))
	if want := "Flyball requires later versions of modules, which the change of go.mod has: a.b/c v1.2.3 to v1.2.4, 2 indirect ones"; err != nil || len(notes) != 1 || notes[0] != want {
		t.Errorf("%q, %v", notes, err)
	}
}

func TestCausesHaveNoFetches(t *testing.T) {
	if got, want := causes("go: downloading a.b/c v1.0.0\ngo: finding module for package x\ngo: x: no\n  go: downloading y\n"), "go: x: no\n  go: downloading y\n"; got != want {
		t.Errorf("%q", got)
	}
}
