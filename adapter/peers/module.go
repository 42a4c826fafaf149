package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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

// copyModule copies a module of the module cache, and gives it the modules of this workspace.
func copyModule(ctx context.Context, dir, name string) (*module, error) {
	const core, adapter = "github.com/flyball-io/flyball", "github.com/flyball-io/flyball/adapter"
	here, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", adapter).Output()
	if err != nil {
		return nil, fmt.Errorf("the module %s is neither here nor in the workspace: %w", adapter, err)
	}
	root := strings.TrimSpace(string(here))
	from, err := command(ctx, root, "go", "list", "-m", "-f", "{{.Dir}}", name)
	if err != nil {
		return nil, err
	}
	if err := copyTree(dir, from); err != nil {
		return nil, err
	}
	_, err = command(ctx, dir, "go", "mod", "edit",
		"-require="+core+"@v0.0.0-00010101000000-000000000000", "-require="+adapter+"@v0.0.0-00010101000000-000000000000",
		"-replace="+core+"="+filepath.Dir(root), "-replace="+adapter+"="+root)
	return &module{dir: dir}, err
}

// copyPeer copies controller-runtime and installs the hook.
func copyPeer(ctx context.Context, dir string) (*module, error) {
	m, err := copyModule(ctx, dir, peer)
	if err != nil {
		return nil, err
	}
	const signature = "func New(cfg *rest.Config, opts Options) (Cache, error) {\n"
	file := filepath.Join(dir, "pkg/cache/cache.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if bytes.Count(text, []byte(signature)) != 1 {
		return nil, fmt.Errorf("%s: cache.New is not where it was", file)
	}
	text = bytes.Replace(text, []byte(signature), []byte(signature+"\tif c, err, ok := hooked(cfg, opts); ok {\n\t\treturn c, err\n\t}\n"), 1)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return nil, err
	}
	return m, os.WriteFile(filepath.Join(dir, "pkg/cache/hook.go"), []byte(hook), 0o644)
}

func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
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
	_, err = command(ctx, dir, "go", "test", "-mod=mod", "-c", "-o", "suite.test", ".")
	return s, err
}

// command runs a command outside of any workspace, and returns its output.
func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, failure.Bytes())
	}
	return strings.TrimSpace(out.String()), nil
}
