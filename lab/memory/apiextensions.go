package main

import (
	"context"
	_ "embed"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/lab/internal/suites"
)

const apiextensionsModule = "k8s.io/apiextensions-apiserver"

//go:embed apiextensionshook.go.txt
var apiextensionsHook []byte

// leftOut has the tests of apiextensions-apiserver that do not run, and why. Tests that ask for flags of the server or
// for etcd skip themselves.
var leftOut = map[string]string{
	"TestCustomResourceDefaultingOfMetaFields": readsEtcd,
	"TestInvalidObjectMetaInStorage":           readsEtcd,
	"TestEtcdStorage":                          readsEtcd,
	"TestYAML":                                 "a watch in YAML is refused by the real server; here it is one in JSON, for whose end the test would wait (DIFFERENCES.md)",
	"TestCBORServingEnablement/enabled":        "it turns a feature gate on in the process of the server",
	"TestRatchetingDropFields":                 "it turns a feature gate off in the process of the server",
	"TestFieldSelectorOpenAPI/OpenAPIv2":       "the document has no definitions in memory (DIFFERENCES.md); that of version 3 is compared",
}

const readsEtcd = "it reads or writes etcd"

// apiextensions compiles the integration tests of apiextensions-apiserver in the module of the control plane, which has
// the versions that they belong to. In the copy, functions that give out a server replace those that start one.
func apiextensions(ctx context.Context, dir string, s suite) (r suites.Run, err error) {
	root, err := suites.Root(ctx)
	if err != nil {
		return r, err
	}
	module := filepath.Join(filepath.Dir(root), "controlplane")
	of, err := suites.Command(ctx, module, "go", "list", "-m", "-f", "{{.Dir}}", apiextensionsModule)
	if err != nil {
		return r, err
	}
	dir = filepath.Join(dir, "apiextensions")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	for _, file := range []string{"go.mod", "go.sum"} { // further modules that the tests need are added to a copy
		text, err := os.ReadFile(filepath.Join(module, file))
		if err != nil {
			return r, err
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil {
			return r, err
		}
	}
	copied := filepath.Join(dir, "module")
	if err := suites.CopyTree(copied, of); err != nil {
		return r, err
	}
	if err := os.WriteFile(filepath.Join(copied, "test/integration/fixtures/server.go"), apiextensionsHook, 0o644); err != nil {
		return r, err
	}
	modfile := filepath.Join(dir, "go.mod")
	if _, err := suites.Command(ctx, dir, "go", "mod", "edit", "-replace="+apiextensionsModule+"="+copied, modfile); err != nil {
		return r, err
	}
	binary := filepath.Join(dir, "integration.test") // the tests know the name of their manager
	if _, err := suites.Command(ctx, module, "go", "test", "-mod=mod", "-modfile="+modfile, "-vet=off", "-c", "-o", binary, apiextensionsModule+"/"+s.pkg); err != nil {
		return r, err
	}
	return suites.Run{Dir: filepath.Join(copied, s.pkg), Binary: binary, Name: s.name, Bound: 4 * bound,
		Args: []string{"-test.short", "-test.skip=" + skipped()}}, nil
}

// skipped returns the expression for -test.skip.
func skipped() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(leftOut)) {
		names = append(names, "^"+strings.ReplaceAll(name, "/", "$/^")+"$")
	}
	return strings.Join(names, "|")
}
