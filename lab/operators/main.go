// Command operators runs the own tests of published operators over the packed cache, and over the default one
// beside it; or over the default cache on an API server in memory, and on the real control plane beside it.
//
//	go run ./lab/operators    # all; a table in Markdown
//	go run ./lab/operators -only karpenter -packages pkg/controllers/node/health
//	go run ./lab/operators -memory
//
// It copies each operator's module from the module cache to a temporary folder, and changes one line there: the
// one that makes the cache. Each run has a bare control plane of its own, or a server in memory. A test that fails
// over the packed cache, and not over the default one, is an error. So is one that fails in memory, and not on the
// control plane. What hangs until -timeout has failed, by its name.
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

	"github.com/flyball-io/flyball/lab/internal/suites"
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
	flag.BoolVar(&o.stock, "stock", true, "run the default cache on the control plane, too")
	flag.BoolVar(&o.memory, "memory", false, "run the default cache on an API server in memory, in place of the packed one")
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
	only                string
	packages            []string
	keep, stock, memory bool
	bound               time.Duration
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
	var binary string
	if opts.stock || !opts.memory {
		if binary, err = plane.Build(ctx, os.Stderr); err != nil {
			return err
		}
	}
	c := caches
	if opts.memory {
		c = servers
	}
	fmt.Println(c.head())
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
			t := &tests{operator: o, name: name, dir: filepath.Join(src, name), binary: binary, bound: opts.bound, comparison: c}
			was, is, err := t.both(ctx, opts.stock)
			if ctx.Err() != nil {
				return errors.Join(append(bad, context.Cause(ctx))...)
			}
			if err != nil { // the next package has its turn
				bad = append(bad, fmt.Errorf("%s %s: %w", o.name, name, err))
				continue
			}
			fmt.Println(c.row(o, name, was, is))
			bad = append(bad, c.judge(o.name+" "+name, was, is)...)
		}
	}
	return errors.Join(bad...)
}

// progress says what goes on.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "operators: "+format+"\n", args...) }

// both builds the tests, and runs them as they were, unless stock is false, and as they are compared with that.
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
	progress("%s %s: built in %v; %s %s, %s %v", t.operator.name, t.name, built.Round(time.Second), t.was, took, t.is, is.took.Round(time.Second))
	return was, is, nil
}

// copy copies the module of an operator, and changes its line.
func (o operator) copy(ctx context.Context, dir string) error {
	root, err := suites.Copy(ctx, dir, o.module, o.version)
	if err != nil {
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
