package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// runInformerSuite runs the tests over client-go's informer, and over the packed one.
func runInformerSuite(ctx context.Context, dir string, stock bool, focus string) (was, is *result, err error) {
	m, err := copyModule(ctx, dir, clientGo, "", "clientgo")
	if err != nil {
		return nil, nil, err
	}
	source := filepath.Join(m.dir, "tools", "cache")
	text, err := os.ReadFile(filepath.Join(source, "shared_informer_test.go"))
	if err != nil {
		return nil, nil, err
	}
	helpers, err := os.ReadFile(filepath.Join(source, "util_test.go"))
	if err != nil {
		return nil, nil, err
	}
	tests, err := testsIn(text)
	if err != nil {
		return nil, nil, err
	}
	drop := append([]string{}, replaced...)
	for name := range leftOut {
		drop = append(drop, name)
	}
	to := filepath.Join(source, "packed")
	if err := os.Mkdir(to, 0o755); err != nil {
		return nil, nil, err
	}
	for _, file := range []struct {
		name, of string
		text     []byte
	}{{"shared_informer_test.go", clientGo + "/tools/cache", text}, {"util_test.go", "", helpers}} {
		out, err := adapt(file.text, "packed", file.of, drop, renamed)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file.name, err)
		}
		if err := os.WriteFile(filepath.Join(to, file.name), out, 0o644); err != nil {
			return nil, nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(to, "packed_test.go"), packedHelpers, 0o644); err != nil {
		return nil, nil, err
	}
	pattern := "^(" + strings.Join(tests, "|") + ")$"
	if focus != "" {
		pattern = focus
	}
	was = &result{}
	if stock {
		if was, err = goTest(ctx, source, pattern); err != nil {
			return nil, nil, err
		}
	}
	is, err = goTest(ctx, to, pattern)
	return was, is, err
}

// goTest runs the tests of a package. Those that have no tests within them count.
func goTest(ctx context.Context, dir, pattern string) (*result, error) {
	calls := filepath.Join(dir, "calls")
	cmd := exec.CommandContext(ctx, "go", "test", "-mod=mod", "-race", "-json", "-count=1", "-timeout", bound.String(), "-run", pattern, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "FLYBALL_CALLS="+calls)
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	failed := cmd.Run() // the events say which tests failed
	if err := os.WriteFile(filepath.Join(dir, "test.json"), out.Bytes(), 0o644); err != nil {
		return nil, err
	}
	r, err := events(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", dir, err, failure.Bytes())
	}
	if failed != nil && len(r.Failed) == 0 {
		r.Failed = append(r.Failed, "the package: "+failed.Error()+"\n"+tail(out.Bytes())+failure.String())
	}
	if counts, err := os.ReadFile(calls); err == nil {
		if _, err := fmt.Sscan(string(counts), &r.calls); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// events reads the output of go test -json.
func events(out []byte) (*result, error) {
	outcome, output := map[string]string{}, map[string]string{}
	var order []string
	for line := range bytes.Lines(out) {
		var e struct{ Action, Test, Output string }
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		switch {
		case e.Test == "":
		case e.Action == "run":
			order = append(order, e.Test)
		case e.Action == "output":
			output[e.Test] += e.Output
		case e.Action == "pass", e.Action == "fail", e.Action == "skip":
			outcome[e.Test] = e.Action
		}
	}
	parents, explained := map[string]bool{}, map[string]bool{} // explained failed since one within it did
	for _, name := range order {
		for i := strings.LastIndex(name, "/"); i >= 0; i = strings.LastIndex(name[:i], "/") {
			parents[name[:i]] = true
			explained[name[:i]] = explained[name[:i]] || outcome[name] == "fail"
		}
	}
	r := &result{}
	for _, name := range order {
		switch action := outcome[name]; {
		case parents[name] && action == "pass", explained[name]:
		case action == "pass":
			r.Specs++
			r.Passed++
		case action == "skip":
			r.Specs++
			r.Pending++
		default: // it failed, or the program ended
			r.Specs++
			r.Failed = append(r.Failed, name+"\n"+output[name])
		}
	}
	return r, nil
}

// tail is the end of an output that is not that of a test.
func tail(out []byte) string {
	var text strings.Builder
	for line := range bytes.Lines(out) {
		var e struct{ Test, Output string }
		if json.Unmarshal(line, &e) == nil && e.Test == "" {
			text.WriteString(e.Output)
		}
	}
	return text.String()
}
