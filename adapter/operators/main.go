// Command operators runs the own tests of published operators over the packed cache, and over the default one
// beside it.
//
//	go run ./adapter/operators    # all; a table in Markdown
//	go run ./adapter/operators -only karpenter -packages pkg/controllers/node/health
//
// It copies each operator's module from the module cache to a temporary folder, and changes one line there: the
// one that makes the cache. Each run has a bare control plane of its own. A test that fails over the packed
// cache, and not over the default one, is an error. What hangs until -timeout has failed, by its name.
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
	"time"

	"github.com/flyball-io/flyball/adapter/internal/suites"
	"github.com/flyball-io/flyball/test/plane"
)

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "`name` of one operator; empty: all")
	flag.Func("packages", "`packages` of its module, separated by commas; empty: those of the table", func(names string) error {
		o.packages = strings.Split(names, ",")
		return nil
	})
	flag.BoolVar(&o.keep, "keep", false, "keep the temporary folder, with reports and logs")
	flag.BoolVar(&o.stock, "stock", true, "run the default cache, too")
	flag.DurationVar(&o.bound, "timeout", 10*time.Minute, "the longest `time` for the tests of a package over one cache")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "operators:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	only        string
	packages    []string
	keep, stock bool
	bound       time.Duration
}

func (opts options) run(ctx context.Context) error {
	chosen := slices.DeleteFunc(slices.Clone(operators), func(o operator) bool { return opts.only != "" && o.name != opts.only })
	switch {
	case len(chosen) == 0:
		return fmt.Errorf("there is no operator %q", opts.only)
	case opts.packages != nil && opts.only == "":
		return errors.New("-packages are those of one operator: -only names it")
	case opts.bound <= 0:
		return fmt.Errorf("-timeout %v: it must be more than nothing", opts.bound)
	}
	dir, err := os.MkdirTemp("", "flyball-operators-")
	if err != nil {
		return err
	}
	if opts.keep {
		progress("folder %s", dir)
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
		if opts.packages != nil {
			o.packages = opts.packages
		}
		src := filepath.Join(dir, o.name)
		if err := o.copy(ctx, src); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		for _, name := range o.packages {
			t := &tests{operator: o, name: name, dir: filepath.Join(src, name), binary: binary, bound: opts.bound}
			was, is, err := t.both(ctx, opts.stock)
			if ctx.Err() != nil {
				return errors.Join(append(bad, context.Cause(ctx))...)
			}
			if err != nil { // the next package has its turn
				bad = append(bad, fmt.Errorf("%s %s: %w", o.name, name, err))
				continue
			}
			fmt.Println(row(o, name, was, is))
			bad = append(bad, judge(o.name+" "+name, was, is)...)
		}
	}
	return errors.Join(bad...)
}

// progress says what goes on.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "operators: "+format+"\n", args...) }

// both builds the tests, and runs them over the default cache, unless stock is false, and over the packed one.
func (t *tests) both(ctx context.Context, stock bool) (was, is *result, err error) {
	start := time.Now()
	if err := t.build(ctx); err != nil {
		return nil, nil, err
	}
	defer os.Remove(filepath.Join(t.dir, testBinary)) // each has 100 MB
	built := time.Since(start)
	if stock {
		if was, err = t.run(ctx, false); err != nil {
			return nil, nil, err
		}
	}
	if is, err = t.run(ctx, true); err != nil {
		return nil, nil, err
	}
	took := "not run"
	if was != nil {
		took = was.took.Round(time.Second).String()
	}
	progress("%s %s: built in %v; default cache %s, packed cache %v", t.operator.name, t.name, built.Round(time.Second), took, is.took.Round(time.Second))
	return was, is, nil
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
		progress("%s, default cache: %s", name, f)
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
	if err := os.WriteFile(filepath.Join(dir, "flyballpacked", "new.go"), []byte(strings.Replace(packed, "NEW", o.newCache, 1)), 0o644); err != nil {
		return err
	}
	return suites.Require(ctx, dir, root, o.goMod...)
}

// packed is what the changed line calls, with the constructor of the operator in place of NEW: it counts its calls,
// and for the run before the change it calls cache.New.
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
	return NEW(cfg, opts)
}
`
