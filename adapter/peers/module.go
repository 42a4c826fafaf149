package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/flyball-io/flyball/adapter/internal/suites"
)

// module is a copy of the peer's module, with the hook.
type module struct {
	dir string
}

const peer = "sigs.k8s.io/controller-runtime"

// hook replaces what cache.New returns, and counts its calls.
const hook = `package cache

import (
	"fmt"
	"os"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// Hook replaces New. Nil: the default cache.
var Hook NewCacheFunc

var hookCalls, hookForeign atomic.Int64

func hooked(cfg *rest.Config, opts Options) (c Cache, err error, ok bool) {
	calls, foreign := hookCalls.Add(1), hookForeign.Load()
	defer func() {
		_ = os.WriteFile(os.Getenv("FLYBALL_CALLS"), fmt.Appendln(nil, calls-foreign, foreign), 0o600)
	}()
	if Hook == nil {
		return nil, nil, false
	}
	if opts.NewInformer != nil {
		foreign = hookForeign.Add(1)
		return nil, nil, false
	}
	c, err = Hook(cfg, opts)
	return c, err, true
}
`

// install is a file of the tests of a suite.
const install = `package %s

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
`

// copyModule copies a module of the module cache, and gives it the modules of this tree. An empty version is that of
// the workspace; more are folders of further modules in that of the adapter.
func copyModule(ctx context.Context, dir, name, version string, more ...string) (*module, error) {
	root, err := suites.Root(ctx)
	if err != nil {
		return nil, err
	}
	if version == "" {
		out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", name).Output()
		if err != nil {
			return nil, fmt.Errorf("go list -m %s: %w", name, err)
		}
		version = strings.TrimSpace(string(out))
	}
	from, err := suites.Download(ctx, name, version)
	if err != nil {
		return nil, err
	}
	if err := suites.CopyTree(dir, from); err != nil {
		return nil, err
	}
	var edits []string
	for _, folder := range more {
		mod := suites.Adapter + "/" + folder
		edits = append(edits, "-require="+mod+"@"+suites.NoVersion, "-replace="+mod+"="+filepath.Join(root, folder))
	}
	return &module{dir: dir}, suites.Require(ctx, dir, root, edits...)
}

// copyPeer copies controller-runtime and installs the hook.
func copyPeer(ctx context.Context, dir, version string) (*module, error) {
	m, err := copyModule(ctx, dir, peer, version)
	if err != nil {
		return nil, err
	}
	const signature = "func New(cfg *rest.Config, opts Options) (Cache, error) {\n"
	err = suites.Edit(filepath.Join(dir, "pkg/cache/cache.go"), signature,
		signature+"\tif c, err, ok := hooked(cfg, opts); ok {\n\t\treturn c, err\n\t}\n")
	if err != nil {
		return nil, err
	}
	return m, os.WriteFile(filepath.Join(dir, "pkg/cache/hook.go"), []byte(hook), 0o644)
}

var (
	packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)
	runner        = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n\tRegisterFailHandler`)
)

// build compiles the tests of a suite.
func (m *module) build(ctx context.Context, name string) (*suite, error) {
	dir := filepath.Join(m.dir, "pkg", name)
	text, err := os.ReadFile(filepath.Join(dir, name+"_suite_test.go"))
	if err != nil {
		return nil, err
	}
	pkg, test := packageClause.FindSubmatch(text), runner.FindSubmatch(text)
	if pkg == nil || test == nil {
		return nil, fmt.Errorf("%s: the suite has no function that runs it", name)
	}
	err = os.WriteFile(filepath.Join(dir, "flyball_test.go"), fmt.Appendf(nil, install, pkg[1]), 0o644)
	if err != nil {
		return nil, err
	}
	s := &suite{name: name, dir: dir, test: string(test[1])}
	_, err = suites.Command(ctx, dir, "go", "test", "-mod=mod", "-c", "-o", "suite.test", ".")
	return s, err
}
