// Command peers runs the own test suites of controller-runtime and client-go over the packed caches and over
// adapter/ctrl, and over those of the peers beside them.
//
//	go run ./lab/peers    # all suites; a table in Markdown
//	go run ./lab/peers -suites cache,source
//	go run ./lab/peers -suites cache -version v0.22.5
//	go run ./lab/peers -suites shared-informer    # client-go's; it needs no control plane
//
// It copies the module from the module cache to a temporary folder. In controller-runtime it puts a hook into
// cache.New, or into client.New, and each run has a bare control plane of its own. In client-go it gives the tests of
// the shared informer another constructor.
//
// A spec that fails must be in the list of exceptions, with a reason, and so must one that does not run. What has not
// ended when its time is up has failed; the other suites run all the same.
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

// overCtrl is the suite client of controller-runtime, over the clients of adapter/ctrl.
const overCtrl = "client-over-ctrl"

// all are the suites of controller-runtime that make caches, that of its client, and that of client-go.
var all = []string{"cache", "controller", "builder", "source", "cluster", "manager", "client", overCtrl, informerSuite}

func main() {
	only := flag.String("suites", strings.Join(all, ","), "`names` of suites, separated by commas")
	keep := flag.Bool("keep", false, "keep the temporary folder, with reports and logs")
	var p peers
	flag.BoolVar(&p.stock, "stock", true, "run those of the peers, too")
	flag.StringVar(&p.focus, "focus", "", "`expression` for the names of specs or tests: only those run")
	flag.StringVar(&p.version, "version", "", "`version` of controller-runtime; empty: the newest that is tested")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := p.run(ctx, strings.Split(*only, ","), *keep); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// peers are the copies of the peers' modules, and how their suites run.
type peers struct {
	stock          bool
	focus, version string
	dir, plane     string
}

// sides are the runs of a suite over the peer's own code and over that of Flyball.
type sides struct{ was, is suites.Run }

// bound is the longest time that a run of a suite may take. build is that of copying and compiling it.
const (
	bound = 20 * time.Minute
	build = 20 * time.Minute
)

func (p *peers) run(ctx context.Context, names []string, keep bool) (err error) {
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("there is no suite %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	if p.dir, err = os.MkdirTemp("", "flyball-peers-"); err != nil {
		return err
	}
	if keep {
		fmt.Fprintln(os.Stderr, "peers: folder", p.dir)
	} else {
		defer os.RemoveAll(p.dir)
	}
	if slices.ContainsFunc(names, func(name string) bool { return name != informerSuite }) {
		if p.plane, err = plane.Build(ctx, os.Stderr); err != nil {
			return err
		}
	}
	fmt.Println("| suite | specs | of the peer | of Flyball | constructor calls |")
	fmt.Println("|---|---|---|---|---|")
	var bad []error
	var excepted []string
	for _, name := range names {
		was, is, err := p.runSuite(ctx, name)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", name, err))
			fmt.Printf("| %s | did not run | | | |\n", name)
			continue
		}
		problems, known, out := judge(name, was, is)
		fmt.Println(row(name, was, is, out))
		bad, excepted = append(bad, problems...), append(excepted, known...)
	}
	for _, e := range excepted {
		fmt.Println("\n- " + e)
	}
	return errors.Join(bad...)
}

// runSuite runs a suite over the peer's own code and over that of Flyball. The first is nil if it is not wanted.
func (p *peers) runSuite(ctx context.Context, name string) (was, is *suites.Result, err error) {
	s, err := p.build(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range []*suites.Run{&s.was, &s.is} {
		if name != informerSuite {
			r.Plane = p.plane
		}
		if p.focus != "" && r.Ginkgo {
			r.Args = append(slices.Clone(r.Args), "-ginkgo.focus="+p.focus)
		} else if p.focus != "" {
			r.Args = []string{"-test.run=" + p.focus}
		}
	}
	if p.stock {
		if was, err = s.was.Do(ctx); err != nil {
			return nil, nil, err
		}
	}
	is, err = s.is.Do(ctx)
	return was, is, err
}

// build copies the module of a suite, unless another suite has done so, and compiles the tests.
func (p *peers) build(ctx context.Context, name string) (s *sides, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, build, fmt.Errorf("it is not built after %v", build))
	defer cancel()
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
	}()
	if name == informerSuite {
		return buildInformer(ctx, filepath.Join(p.dir, "client-go"))
	}
	h, pkg := cacheHook, name
	if name == overCtrl {
		h, pkg = clientHook, "client"
	}
	dir := filepath.Join(p.dir, h.name)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := h.copy(ctx, dir, p.version); err != nil {
			return nil, err
		}
	}
	return h.build(ctx, dir, pkg)
}
