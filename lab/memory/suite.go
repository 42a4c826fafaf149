package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/flyball-io/flyball/lab/internal/suites"
)

// suite is the test suite of a package.
type suite struct {
	name string
	pkg  string // the folder in its module
	own  bool   // whether it also runs without a server, over the peer's own fake
	// differs says why tests fail in memory, by a part of their names.
	differs map[string]string
	build   func(ctx context.Context, dir string, s suite) (suites.Run, error)
}

// all are the suites of controller-runtime that need a server.
var all = []suite{
	{name: "cache", pkg: "pkg/cache", build: controllerRuntime},
	{name: "controller", pkg: "pkg/controller", build: controllerRuntime},
	{name: "builder", pkg: "pkg/builder", build: controllerRuntime},
	{name: "source", pkg: "pkg/source", build: controllerRuntime},
	{name: "cluster", pkg: "pkg/cluster", build: controllerRuntime},
	{name: "manager", pkg: "pkg/manager", build: controllerRuntime},
	{name: "client", pkg: "pkg/client", build: controllerRuntime},
	{name: "apiutil", pkg: "pkg/client/apiutil", build: restMapper},
	{name: "handler", pkg: "pkg/handler", build: controllerRuntime},
	{name: "reconcile", pkg: "pkg/reconcile", build: controllerRuntime},
	{name: "controllerutil", pkg: "pkg/controller/controllerutil", build: controllerRuntime},
	{name: "internal-controller", pkg: "pkg/internal/controller", build: controllerRuntime},
	{name: "internal-recorder", pkg: "pkg/internal/recorder", build: controllerRuntime},
	{name: "internal-integration", pkg: "pkg/manager/internal/integration", build: controllerRuntime, differs: map[string]string{
		"controller warmup not enabled": "each of its two specs wants a new server, and makes an object of one name",
	}},
	{name: "webhook", pkg: "pkg/webhook", build: controllerRuntime},
	{name: "metrics-filters", pkg: "pkg/metrics/filters", build: controllerRuntime},
	{name: "envtest", pkg: "pkg/envtest", build: controllerRuntime},
	{name: "fake", pkg: "pkg/client/fake", own: true, build: fakeClient},
	{name: "apiextensions", pkg: "test/integration", build: apiextensions, differs: map[string]string{
		"TestApplyCRDuringCRDFinalization": "it waits to see a definition whose objects are being deleted; in memory that has ended when the delete is answered",
	}},
}

func names() (names []string) {
	for _, s := range all {
		names = append(names, s.name)
	}
	return names
}

func find(name string) (suite, error) {
	for _, s := range all {
		if s.name == name {
			return s, nil
		}
	}
	return suite{}, fmt.Errorf("there is no suite %q; there are %s", name, strings.Join(names(), ", "))
}

const controllerRuntimeModule = "sigs.k8s.io/controller-runtime"

// copied copies a module, unless another suite has done so.
func copied(ctx context.Context, dir, module string, more ...string) error {
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return suites.CopyModule(ctx, dir, module, "", more...)
}

// runner is the function of a suite of ginkgo that runs it.
var runner = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n\tRegisterFailHandler`)

func controllerRuntime(ctx context.Context, dir string, s suite) (suites.Run, error) {
	dir = filepath.Join(dir, "controller-runtime")
	if err := copied(ctx, dir, controllerRuntimeModule); err != nil {
		return suites.Run{}, err
	}
	return compile(ctx, filepath.Join(dir, s.pkg), s)
}

// restMapper builds a suite whose tests are not those of ginkgo. Half of them count the requests to an API server of
// 1.28 without aggregated discovery, and are left out. So is one that makes a definition again right after it deleted
// it: whether the control plane has ended that by then is chance.
func restMapper(ctx context.Context, dir string, s suite) (suites.Run, error) {
	r, err := controllerRuntime(ctx, dir, s)
	r.Ginkgo, r.Args = false, []string{"-test.skip=/aggregatedDiscovery=false|//should_invalidate_the_group_cache"}
	return r, err
}

// compile compiles a suite of ginkgo.
func compile(ctx context.Context, dir string, s suite) (suites.Run, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_suite_test.go"))
	if err != nil || len(files) != 1 {
		return suites.Run{}, fmt.Errorf("%d files run the suite: %w", len(files), err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return suites.Run{}, err
	}
	test := runner.FindSubmatch(text)
	if test == nil {
		return suites.Run{}, fmt.Errorf("%s has no function that runs the suite", files[0])
	}
	if _, err := suites.Command(ctx, dir, "go", "test", "-mod=mod", "-vet=off", "-c", "-o", "suite.test", "."); err != nil {
		return suites.Run{}, err
	}
	return suites.Run{Dir: dir, Binary: "./suite.test", Name: s.name, Ginkgo: true, Bound: bound, Args: []string{"-test.run=^" + string(test[1]) + "$"}}, nil
}
