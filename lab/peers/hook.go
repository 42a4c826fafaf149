package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flyball-io/flyball/lab/internal/suites"
)

const peer = "sigs.k8s.io/controller-runtime"

// hook replaces what constructors of controller-runtime return, and counts their calls.
type hook struct {
	name     string   // of the folder
	modules  []string // folders of further modules in that of the adapter
	pkg      string   // the folder that the hook goes into
	text     []byte   // the hook
	install  string   // a file of the tests of a suite, with the name of their package
	variable string   // of the environment that turns the hook on
	inserts  []insertion
}

// insertion is what a function of the peer begins with.
type insertion struct{ file, signature, text string }

//go:embed cachehook.go.txt
var cacheHookText []byte

var cacheHook = &hook{
	name: "cache", pkg: "pkg/cache", text: cacheHookText, variable: "FLYBALL_CACHE",
	inserts: []insertion{{
		"cache.go", "func New(cfg *rest.Config, opts Options) (Cache, error) {\n",
		"\tif c, err, ok := hooked(cfg, opts); ok {\n\t\treturn c, err\n\t}\n",
	}},
	install: `package %s

import (
	"os"

	flyballcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
)

func init() {
	if os.Getenv("FLYBALL_CACHE") != "" {
		flyballcache.Hook = ctrlcache.New
	}
}
`,
}

//go:embed clienthook.go.txt
var clientHookText []byte

//go:embed client.go.txt
var clientInstall string

// clientHook makes a manager of Flyball for each client. adapter/ctrl asks for the newest controller-runtime that is
// tested, so this hook has a copy of the peer of its own.
var clientHook = &hook{
	name: "client", modules: []string{"ctrl"}, pkg: "pkg/client", text: clientHookText, variable: "FLYBALL_CLIENT",
	install: clientInstall,
	inserts: []insertion{
		{"client.go", "func New(config *rest.Config, options Options) (Client, error) {\n",
			"\tif c, err, ok := hooked(config, options); ok {\n\t\treturn c, err\n\t}\n"},
		{"watch.go", "func NewWithWatch(config *rest.Config, options Options) (WithWatch, error) {\n",
			"\tif c, err, ok := hooked(config, options); ok {\n\t\treturn c, err\n\t}\n"},
	},
}

// copy copies controller-runtime and installs the hook.
func (h *hook) copy(ctx context.Context, dir, version string) error {
	if err := suites.CopyModule(ctx, dir, peer, version, h.modules...); err != nil {
		return err
	}
	for _, i := range h.inserts {
		if err := suites.Edit(filepath.Join(dir, h.pkg, i.file), i.signature, i.signature+i.text); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, h.pkg, "hook.go"), h.text, 0o644)
}

// build compiles the tests of a package of controller-runtime, copied to dir.
func (h *hook) build(ctx context.Context, dir, name string) (*sides, error) {
	dir = filepath.Join(dir, "pkg", name)
	text, err := os.ReadFile(filepath.Join(dir, name+"_suite_test.go"))
	if err != nil {
		return nil, err
	}
	pkg, test := packageClause.FindSubmatch(text), runner.FindSubmatch(text)
	if pkg == nil || test == nil {
		return nil, fmt.Errorf("%s: the suite has no function that runs it", name)
	}
	err = os.WriteFile(filepath.Join(dir, "flyball_test.go"), fmt.Appendf(nil, h.install, pkg[1]), 0o644)
	if err != nil {
		return nil, err
	}
	if _, err := suites.Command(ctx, dir, "go", "test", "-mod=mod", "-vet=off", "-c", "-o", "suite.test", "."); err != nil {
		return nil, err
	}
	run := suites.Run{Dir: dir, Binary: "./suite.test", Name: name + "-default", Ginkgo: true, Bound: bound, Args: []string{"-test.run=^" + string(test[1]) + "$"}}
	s := &sides{was: run, is: run}
	s.is.Name, s.is.Env = name+"-packed", []string{h.variable + "=1"}
	return s, nil
}
