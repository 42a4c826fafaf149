package plane

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

// proxy writes a module proxy with these versions: content has the files of each "path@version". The
// go command uses it instead of the network, with an empty module cache.
func proxy(t *testing.T, content map[string]map[string]string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for module, files := range content {
		path, version, _ := strings.Cut(module, "@")
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, text := range files {
			w, err := z.Create(module + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		at := path + "/@v/"
		write(at+"list", []byte(version+"\n"))
		write(at+version+".info", fmt.Appendf(nil, `{"Version":%q}`, version))
		write(at+version+".mod", []byte(files["go.mod"]))
		write(at+version+".zip", b.Bytes())
	}
	for name, value := range map[string]string{
		"GOPROXY":    "file://" + filepath.ToSlash(dir),
		"GOSUMDB":    "off",
		"GOMODCACHE": t.TempDir(),
		"GOFLAGS":    "-modcacherw", // so that the folder can be removed
	} {
		t.Setenv(name, value)
	}
}

// kubernetesModule stands in for k8s.io/kubernetes: it needs a module from its own repository and one
// of others.
func kubernetesModule(version, other string) map[string]string {
	return map[string]string{
		"go.mod": "module k8s.io/kubernetes\n\ngo 1.24.0\n\nrequire (\n\texample.com/other " + other +
			" // indirect\n\tk8s.io/api v0.0.0\n)\n\nreplace k8s.io/api => ./staging/src/k8s.io/api\n",
		"k.go": "package kubernetes\n\nimport \"k8s.io/api\"\n\nconst Versions = \"kubernetes " + version + ", api \" + api.Version\n",
	}
}

func library(path, version string) map[string]string {
	name := filepath.Base(path)
	return map[string]string{
		"go.mod": "module " + path + "\n\ngo 1.24.0\n",
		"x.go":   "package " + name + "\n\nconst Version = \"" + version + "\"\n",
	}
}

// The build with another version of Kubernetes has the versions of all modules that this one was
// released with, older ones too, and the files for it. It changes nothing in the source.
func TestBuildWithAnotherKubernetes(t *testing.T) {
	tier.Audit(t, "runs the go command")
	proxy(t, map[string]map[string]string{
		"k8s.io/kubernetes@v1.36.3":  kubernetesModule("v1.36.3", "v1.6.0"),
		"k8s.io/kubernetes@v1.33.6":  kubernetesModule("v1.33.6", "v1.2.0"),
		"k8s.io/kubernetes@v1.33.13": kubernetesModule("v1.33.13", "v1.3.0"),
		"k8s.io/kubernetes@v1.37.2":  kubernetesModule("v1.37.2", "v1.7.0"),
		"k8s.io/api@v0.36.3":         library("k8s.io/api", "v0.36.3"),
		"k8s.io/api@v0.33.6":         library("k8s.io/api", "v0.33.6"),
		"k8s.io/api@v0.33.13":        library("k8s.io/api", "v0.33.13"),
		"k8s.io/api@v0.37.2":         library("k8s.io/api", "v0.37.2"),
		"example.com/other@v1.2.0":   library("example.com/other", "v1.2.0"),
		"example.com/other@v1.3.0":   library("example.com/other", "v1.3.0"),
		"example.com/other@v1.6.0":   library("example.com/other", "v1.6.0"),
		"example.com/other@v1.7.0":   library("example.com/other", "v1.7.0"),
	})
	// The program itself asks for a newer version of the other module than Kubernetes does.
	dir := files(t, map[string]string{
		"go.mod": "module x\n\ngo 1.26\n\nrequire (\n\texample.com/other v1.6.0\n\tk8s.io/api v0.36.3\n\tk8s.io/kubernetes v1.36.3\n)\n",
		"main.go": `package main

import (
	"fmt"

	"example.com/other"
	"k8s.io/kubernetes"
)

func main() { fmt.Printf("%s, other %s, %s\n", kubernetes.Versions, other.Version, complete) }
`,
		"old.go": "//go:build before1.34\n\npackage main\n\nconst complete = \"as before 1.34\"\n",
		"new.go": "//go:build !before1.34\n\npackage main\n\nconst complete = \"as since 1.34\"\n",
	})
	state := func() string {
		t.Helper()
		sum, err := source{dir: dir}.hash()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	before := state()
	own := source{dir: dir, kubernetes: "v1.36.3"}
	for version, want := range map[string]string{
		"1.33":    "kubernetes v1.33.13, api v0.33.13, other v1.3.0, as before 1.34",
		"v1.33.6": "kubernetes v1.33.6, api v0.33.6, other v1.2.0, as before 1.34",
		"1.37":    "kubernetes v1.37.2, api v0.37.2, other v1.7.0, as since 1.34",
	} {
		src, err := own.at(t.Context(), version)
		if err != nil {
			t.Fatal(err)
		}
		binary := filepath.Join(t.TempDir(), "built")
		var progress bytes.Buffer
		if err := src.build(t.Context(), binary, src.linkFlags(), &progress); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(binary).Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", version, got, err, want)
		}
		if !strings.Contains(progress.String(), "building etcd, Kubernetes "+src.kubernetes) {
			t.Errorf("%s: progress %s", version, &progress)
		}
	}
	if after := state(); after != before {
		t.Error("the source has changed")
	}
	if src, err := own.at(t.Context(), "1.36"); err != nil || src.goMod != nil {
		t.Errorf("the module's own version: %+v, %v", src, err)
	}
	for version, want := range map[string]string{
		"1.32":    "the oldest version that the control plane can be built with is 1.33",
		"1.35":    `no matching versions for query "v1.35"`,
		"1.33.99": "v1.33.99",
		"latest":  `"latest" is no version such as 1.33 or 1.33.0`,
		"2.0":     `"2.0" is no version`,
	} {
		_, err := own.at(t.Context(), version)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), KubernetesEnv) {
			t.Errorf("%s: got error %v, want %s and the variable", version, err, want)
		}
	}
}

// What is built depends on the version, so the program for one is never taken for another.
func TestHashCoversTheKubernetesVersion(t *testing.T) {
	own := []byte("module x\n")
	seen := map[string]string{}
	for name, goMod := range map[string][]byte{
		"none":    nil,
		"1.33.6":  derive(own, "v1.33.6", nil),
		"1.33.13": derive(own, "v1.33.13", nil),
		"with":    derive(own, "v1.33.13", []requirement{{"k8s.io/api", "v0.0.0"}}),
	} {
		sum, err := source{dir: files(t, module), goMod: goMod}.hash(string(goMod))
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[sum]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[sum] = name
	}
}

// The files for older versions are chosen for each of them: no version lacks a function, or has it twice.
func TestTagsOfVersions(t *testing.T) {
	for minor, want := range map[int]string{31: "before1.32 before1.33 before1.34", 33: "before1.34", 34: "", 35: ""} {
		got, err := tagsFor(minor, "v1.34.1")
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("1.%d: got %v, %v; want %s", minor, got, err, want)
		}
	}
	src, err := findSource(t.Context(), program{})
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string][]string{} // function → the constraints of the files that have it
	for _, pattern := range []string{"before*.go", "since*.go"} {
		names, err := filepath.Glob(filepath.Join(src.dir, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			constraint, _, _ := strings.Cut(strings.TrimPrefix(string(text), "//go:build "), "\n")
			for line := range strings.Lines(string(text)) {
				if f, ok := strings.CutPrefix(line, "func "); ok {
					f, _, _ = strings.Cut(f, "(")
					declared[f] = append(declared[f], constraint)
				}
			}
		}
	}
	for f, constraints := range declared {
		slices.Sort(constraints)
		if len(constraints) != 2 || constraints[0] != "!"+constraints[1] || !strings.HasPrefix(constraints[1], "before1.") {
			t.Errorf("%s is declared under %q, want one tag and its opposite", f, constraints)
		}
	}
}
