// Command peers runs the own test suites of controller-runtime and client-go over the packed caches, and over those
// of the peers beside them.
//
//	go run ./adapter/peers    # all suites; a table in Markdown
//	go run ./adapter/peers -suites cache,source
//	go run ./adapter/peers -version v0.22.5
//	go run ./adapter/peers -suites shared-informer    # client-go's; it needs no control plane
//
// It copies the module from the module cache to a temporary folder. In controller-runtime it puts a hook into
// cache.New, and each run has a bare control plane of its own. In client-go it gives the tests of the shared informer
// another constructor. A spec that fails must be in the list of exceptions, with a reason.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/test/plane"
)

// all are the suites of controller-runtime that make caches, and that of client-go.
var all = []string{"cache", "controller", "builder", "source", "cluster", "manager", "client", informerSuite}

func main() {
	only := flag.String("suites", strings.Join(all, ","), "`names` of suites, separated by commas")
	keep := flag.Bool("keep", false, "keep the temporary folder, with reports and logs")
	stock := flag.Bool("stock", true, "run those of the peers, too")
	focus := flag.String("focus", "", "`expression` for the names of specs or tests: only those run")
	version := flag.String("version", "", "`version` of controller-runtime; empty: the newest that is tested")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Split(*only, ","), *keep, *version, *stock, *focus); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string, keep bool, version string, stock bool, focus string) error {
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("there is no suite %q", name)
		}
	}
	dir, err := os.MkdirTemp("", "flyball-peers-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Fprintln(os.Stderr, "peers: folder", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	var binary string
	var src *module
	if slices.ContainsFunc(names, func(name string) bool { return name != informerSuite }) {
		if binary, err = plane.Build(ctx, os.Stderr); err != nil {
			return err
		}
		if src, err = copyPeer(ctx, filepath.Join(dir, "src"), version); err != nil {
			return err
		}
	}
	fmt.Println("| suite | specs | default cache | packed cache | constructor calls |")
	fmt.Println("|---|---|---|---|---|")
	var bad []error
	var excepted []string
	for _, name := range names {
		was, is := &result{}, &result{}
		if name == informerSuite {
			was, is, err = runInformerSuite(ctx, filepath.Join(dir, "client-go"), stock, focus)
			for _, test := range slices.Sorted(maps.Keys(leftOut)) {
				excepted = append(excepted, fmt.Sprintf("%s: %s is left out: %s", name, test, leftOut[test]))
			}
		} else {
			was, is, err = src.runSuite(ctx, name, binary, stock, focus)
		}
		if err != nil {
			return err
		}
		fmt.Println(row(name, stock, was, is))
		problems, known := judge(name, was, is)
		bad, excepted = append(bad, problems...), append(excepted, known...)
	}
	for _, e := range excepted {
		fmt.Println("\n- " + e)
	}
	return errors.Join(bad...)
}

// runSuite runs a suite of controller-runtime over the default cache and over the packed one.
func (m *module) runSuite(ctx context.Context, name, binary string, stock bool, focus string) (was, is *result, err error) {
	s, err := m.build(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	s.binary, s.focus = binary, focus
	was = &result{}
	if stock {
		if was, err = s.run(ctx, false); err != nil {
			return nil, nil, err
		}
	}
	is, err = s.run(ctx, true)
	return was, is, err
}

// row is the line of a suite in the table.
func row(name string, stock bool, was, is *result) string {
	specs := fmt.Sprint(max(was.Specs, is.Specs))
	if is.Pending > 0 {
		specs += fmt.Sprintf(" (%d pending)", is.Pending)
	}
	calls := fmt.Sprint(is.calls)
	if is.foreign > 0 {
		calls += fmt.Sprintf(", and %d with NewInformer to the default cache", is.foreign)
	}
	passed := "not run"
	if stock {
		passed = fmt.Sprint(was.Passed)
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %s |", name, specs, passed, is.Passed, calls)
}

// judge returns the failures that no exception explains, and those that one does.
func judge(suite string, was, is *result) (bad []error, known []string) {
	if is.Specs == 0 {
		bad = append(bad, fmt.Errorf("%s: no spec ran", suite))
	}
	for _, f := range was.Failed {
		bad = append(bad, fmt.Errorf("%s, default cache: %s", suite, f))
	}
	for _, f := range is.Failed {
		if reason := exceptionFor(f); reason != "" {
			known = append(known, fmt.Sprintf("%s: %s: %s", suite, strings.SplitN(f, "\n", 2)[0], reason))
			continue
		}
		bad = append(bad, fmt.Errorf("%s, packed cache: %s", suite, f))
	}
	return bad, known
}

// bound is the longest time that a suite may take.
const bound = 20 * time.Minute
