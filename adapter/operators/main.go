// Command operators runs the own tests of published operators over the packed cache, and over the default one
// beside it.
//
//	go run ./adapter/operators    # all; a table in Markdown
//	go run ./adapter/operators -only karpenter -packages pkg/controllers/node/health
//
// It copies each operator's module from the module cache to a temporary folder, and changes one line there: the
// one that makes the cache. Each run has a bare control plane of its own. A test that fails over the packed
// cache, and not over the default one, is an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/adapter/internal/suites"
	"github.com/flyball-io/flyball/test/plane"
)

func main() {
	only := flag.String("only", "", "`name` of one operator; empty: all")
	packages := flag.String("packages", "", "`packages` of its module, separated by commas; empty: those of the table")
	keep := flag.Bool("keep", false, "keep the temporary folder, with reports and logs")
	stock := flag.Bool("stock", true, "run the default cache, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *packages, *keep, *stock); err != nil {
		fmt.Fprintln(os.Stderr, "operators:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only, packages string, keep, stock bool) error {
	chosen := slices.DeleteFunc(slices.Clone(operators), func(o operator) bool { return only != "" && o.name != only })
	if len(chosen) == 0 {
		return fmt.Errorf("there is no operator %q", only)
	}
	dir, err := os.MkdirTemp("", "flyball-operators-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Fprintln(os.Stderr, "operators: folder", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	binary, err := plane.Build(ctx, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println("| operator | tests of | tests | default cache | packed cache | caches made | peak memory, default | packed |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	var bad []error
	for _, o := range chosen {
		if packages != "" {
			o.packages = strings.Split(packages, ",")
		}
		src := filepath.Join(dir, o.name)
		if err := o.copy(ctx, src); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		for _, name := range o.packages {
			t := &tests{operator: o, name: name, dir: filepath.Join(src, name), binary: binary}
			if err := t.build(ctx); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			var was *result
			if stock {
				if was, err = t.run(ctx, false); err != nil {
					return err
				}
			}
			is, err := t.run(ctx, true)
			if err != nil {
				return err
			}
			fmt.Println(row(o, name, was, is))
			bad = append(bad, judge(o.name+" "+name, was, is)...)
		}
	}
	return errors.Join(bad...)
}

// row is a line of the table. was is nil if the default cache did not run.
func row(o operator, name string, was, is *result) string {
	n := fmt.Sprint(is.Specs)
	if is.Pending > 0 {
		n += fmt.Sprintf(" (%d skipped)", is.Pending)
	}
	passed, peak := "not run", ""
	if was != nil {
		passed, peak = fmt.Sprint(was.Passed), fmt.Sprintf("%d MB", was.peak>>20)
	}
	return fmt.Sprintf("| %s %s | `%s` | %s | %s | %d | %d | %s | %d MB |", o.name, o.version, name, n, passed, is.Passed, is.caches, peak, is.peak>>20)
}

// judge returns what the packed cache changed for the worse.
func judge(name string, was, is *result) (bad []error) {
	if is.Specs == 0 {
		bad = append(bad, fmt.Errorf("%s: no test ran", name))
	}
	if is.caches == 0 {
		bad = append(bad, fmt.Errorf("%s: no test made a cache", name))
	}
	for _, f := range is.Failed {
		if was == nil || !slices.ContainsFunc(was.Failed, func(g string) bool { return title(g) == title(f) }) {
			bad = append(bad, fmt.Errorf("%s, packed cache: %s", name, f))
		}
	}
	if was == nil {
		return bad
	}
	for _, f := range was.Failed {
		fmt.Fprintf(os.Stderr, "operators: %s, default cache: %s\n", name, f)
	}
	if is.Passed < was.Passed && len(is.Failed) <= len(was.Failed) {
		bad = append(bad, fmt.Errorf("%s: %d tests passed over the default cache, %d over the packed one", name, was.Passed, is.Passed))
	}
	return bad
}

// title is the name of a failed test.
func title(failure string) string { return strings.SplitN(failure, "\n", 2)[0] }

// copy copies the module of an operator, and changes its line.
func (o operator) copy(ctx context.Context, dir string) error {
	root, err := suites.Root(ctx)
	if err != nil {
		return err
	}
	from, err := suites.Download(ctx, o.module, o.version)
	if err != nil {
		return err
	}
	if err := suites.CopyTree(dir, from); err != nil {
		return err
	}
	file := filepath.Join(dir, o.file)
	if err := suites.Edit(file, o.line, o.to); err != nil {
		return err
	}
	if err := suites.Edit(file, "import (\n", "import (\n\tpacked \""+o.module+"/flyballpacked\"\n"); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "flyballpacked"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "flyballpacked", "new.go"), []byte(packed), 0o644); err != nil {
		return err
	}
	return suites.Require(ctx, dir, root, o.goMod...)
}

// packed is what the changed line calls: ctrlcache.New, which counts its calls, or for the run before the
// change cache.New.
const packed = `package flyballpacked

import (
	"fmt"
	"os"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
)

var calls atomic.Int64

func New(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
	_ = os.WriteFile(os.Getenv("FLYBALL_CALLS"), fmt.Appendln(nil, calls.Add(1)), 0o600)
	if os.Getenv("FLYBALL_CACHE") == "" {
		return cache.New(cfg, opts)
	}
	return ctrlcache.New(cfg, opts)
}
`
