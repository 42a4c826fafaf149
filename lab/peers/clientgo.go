package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flyball-io/flyball/lab/internal/suites"
)

// informerSuite is client-go's own tests of its SharedInformer. They stand in the package that they test, and reach
// into it. So the file goes into a package of its own, which has another constructor of the same shape; what cannot
// be without client-go's own fields is left out, for a reason.
const informerSuite = "shared-informer"

const clientGo = "k8s.io/client-go"

// leftOut are the tests that do not run over packed informers, and why.
var leftOut = map[string]string{
	"TestListenerResyncPeriods":        spreadResyncs,
	"TestListenerResyncPeriodsDelayed": spreadResyncs,
	"TestResyncCheckPeriod":            "it reads the private fields that client-go computes resync periods in. TestResync in adapter/clientgo tests what handlers are told",
	"TestSharedInformerTransformer":    "its transform changes the name of objects. A packed store finds an object by the identity that the server knows: such objects are rejected and reported",
	"TestEventPanics":                  "it reads klog for a crash handler that ends the program by default. A panic in a handler is reported to OnProblem and the log, and the program goes on",
}

const spreadResyncs = "it wants all objects resynced at one instant of a fake clock. Packed informers spread a resync over its period"

// replaced are the helpers of the tests that reach into client-go. The file packed.go.txt has others in their place.
var replaced = []string{"eventHandlerCount", "isStarted", "isRegistered", "testListenerResyncPeriods"}

// renamed are the names that stand for the packed informer in the tests.
var renamed = map[string]string{"NewSharedInformer": "newPackedInformer", "sharedIndexInformer": "packedInformer"}

//go:embed packed.go.txt
var packedHelpers []byte

// buildInformer compiles the tests over client-go's informer, and over the packed one.
func buildInformer(ctx context.Context, dir string) (*sides, error) {
	if err := suites.CopyModule(ctx, dir, clientGo, "", "clientgo"); err != nil {
		return nil, err
	}
	source := filepath.Join(dir, "tools", "cache")
	text, err := os.ReadFile(filepath.Join(source, "shared_informer_test.go"))
	if err != nil {
		return nil, err
	}
	helpers, err := os.ReadFile(filepath.Join(source, "util_test.go"))
	if err != nil {
		return nil, err
	}
	tests, err := testsIn(text)
	if err != nil {
		return nil, err
	}
	drop := append([]string{}, replaced...)
	for name := range leftOut {
		drop = append(drop, name)
	}
	to := filepath.Join(source, "packed")
	if err := os.Mkdir(to, 0o755); err != nil {
		return nil, err
	}
	for _, file := range []struct {
		name, of string
		text     []byte
	}{{"shared_informer_test.go", clientGo + "/tools/cache", text}, {"util_test.go", "", helpers}} {
		out, err := adapt(file.text, "packed", file.of, drop, renamed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.name, err)
		}
		if err := os.WriteFile(filepath.Join(to, file.name), out, 0o644); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(to, "packed_test.go"), packedHelpers, 0o644); err != nil {
		return nil, err
	}
	run := suites.Run{Binary: "./suite.test", Name: informerSuite, Bound: informerBound, Args: []string{"-test.run=^(" + strings.Join(tests, "|") + ")$"}}
	s := &sides{was: run, is: run}
	s.was.Dir, s.is.Dir = source, to
	for _, dir := range []string{source, to} {
		if _, err := suites.Command(ctx, dir, "go", "test", "-mod=mod", "-vet=off", "-race", "-c", "-o", run.Binary, "."); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// informerBound is the longest time that the tests of client-go may take. They need half a minute.
const informerBound = 5 * time.Minute
