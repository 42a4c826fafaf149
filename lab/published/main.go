// Command published generates what published API modules derive from their Go types, by the flyball command and by
// controller-gen beside it, at the version that cmd/flyball has.
//
//	go run ./lab/published    # all; a table in Markdown
//	go run ./lab/published -only kueue,keda
//	go run ./lab/published -module sigs.k8s.io/network-policy-api@v0.3.0 -paths ./apis/...
//	go run ./lab/published -rules    # each CRD is checked by the rules of the API server, too
//
// It copies each module from the module cache to a temporary folder, and changes nothing there. Warnings are counted.
// A refusal is an error, and so is a definition, role, webhook configuration or DeepCopy method that differs from that
// of controller-gen. Its version annotation does not count. Neither do definitions of kinds without a group, which no
// API server takes: flyball leaves them out. Methods are not compared where controller-gen fails to make them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/gomod"
	"github.com/flyball-io/flyball/lab/internal/suites"
)

func main() {
	var o options
	flag.Func("only", "`names` of modules of the table, separated by commas; empty: all", func(names string) error {
		o.only = strings.Split(names, ",")
		return nil
	})
	flag.StringVar(&o.module, "module", "", "`module@version`: this one, and not those of the table")
	flag.StringVar(&o.paths, "paths", "./...", "`packages` of -module to read, separated by commas")
	flag.BoolVar(&o.objectMeta, "object-meta", false, "of -module: have the fields of an ObjectMeta inside of a spec")
	flag.BoolVar(&o.floats, "floats", false, "of -module: allow floats")
	flag.BoolVar(&o.rules, "rules", false, "check the definitions by the rules of the API server, built first if need be")
	flag.BoolVar(&o.keep, "keep", false, "keep the temporary folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "published:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	only               []string
	module, paths      string
	objectMeta, floats bool
	rules, keep        bool
}

// chosen returns the modules of the flags.
func (o options) chosen() ([]module, error) {
	if o.module != "" {
		path, version, ok := strings.Cut(o.module, "@")
		if !ok || o.only != nil {
			return nil, fmt.Errorf("-module %s: must be module@version, without -only", o.module)
		}
		return []module{{name: filepath.Base(path), path: path, version: version, read: strings.Split(o.paths, ","),
			objectMeta: o.objectMeta, floats: o.floats}}, nil
	}
	for _, name := range o.only {
		if !slices.ContainsFunc(modules, func(m module) bool { return m.name == name }) {
			return nil, fmt.Errorf("there is no module %q", name)
		}
	}
	return slices.DeleteFunc(slices.Clone(modules), func(m module) bool { return o.only != nil && !slices.Contains(o.only, m.name) }), nil
}

func (o options) run(ctx context.Context) error {
	chosen, err := o.chosen()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "flyball-published-")
	if err != nil {
		return err
	}
	if o.keep {
		progress("folder %s", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	tools, err := build(ctx, dir)
	if err != nil {
		return err
	}
	tools.rules = o.rules
	fmt.Println("| module | definitions | differ | roles and webhooks | DeepCopy methods | differ | warnings | refusals | time, controller-gen | flyball |\n|---|---|---|---|---|---|---|---|---|---|")
	var bad []error
	for _, m := range chosen {
		r, err := tools.compare(ctx, m, filepath.Join(dir, m.name))
		if ctx.Err() != nil {
			return errors.Join(append(bad, context.Cause(ctx))...)
		}
		if err != nil { // the next module has its turn
			bad = append(bad, fmt.Errorf("%s: %w", m.name, err))
			continue
		}
		fmt.Println(r.row(m))
		bad = append(bad, r.judge(m)...)
	}
	return errors.Join(bad...)
}

// progress says what goes on.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "published: "+format+"\n", args...) }

// tools are the two commands.
type tools struct {
	flyball, controllerGen string
	rules                  bool
}

// build builds the commands, both with the versions of cmd/flyball.
func build(ctx context.Context, dir string) (*tools, error) {
	root, err := suites.Root(ctx)
	if err != nil {
		return nil, err
	}
	from := filepath.Join(filepath.Dir(root), "cmd", "flyball")
	t := &tools{flyball: filepath.Join(dir, "flyball"), controllerGen: filepath.Join(dir, "controller-gen")}
	for binary, pkg := range map[string]string{t.flyball: ".", t.controllerGen: "sigs.k8s.io/controller-tools/cmd/controller-gen"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, pkg)
		cmd.Dir, cmd.Stderr = from, os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("go build %s: %w", pkg, err)
		}
	}
	return t, nil
}

// compare generates the files of a module by both commands. Each reads a copy of its own, since both write there.
func (t *tools) compare(ctx context.Context, m module, dir string) (*result, error) {
	from, err := gomod.Download(ctx, m.path, m.version)
	if err != nil {
		return nil, err
	}
	r := &result{}
	for _, c := range []struct {
		side *side
		run  func(ctx context.Context, m module, src, out string) (*side, error)
	}{{&r.was, t.runControllerGen}, {&r.is, t.runFlyball}} {
		src, out := filepath.Join(dir, "src"), filepath.Join(dir, "out")
		if err := suites.CopyTree(src, from.Dir); err != nil {
			return nil, err
		}
		start := time.Now()
		made, err := c.run(ctx, m, src, out)
		if err != nil {
			return nil, err
		}
		made.took = time.Since(start)
		if err := made.read(src, out); err != nil {
			return nil, err
		}
		*c.side = *made
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	return r, nil
}
