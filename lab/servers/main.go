// Command servers runs the tests that talk to a server against other versions of Kubernetes than the one
// of the control plane, and prints a table in Markdown.
//
//	go run ./lab/servers                                     # the versions below, the newest first
//	go run ./lab/servers 1.33 1.34.4                         # these
//	go run ./lab/servers -packages "./cache ./client" 1.33   # these packages only
//
// It runs in the root of the workspace. The tests are those of all packages, of the core and of the
// adapters, that start a control plane. A version that was not built before takes 5 to 9 minutes on two
// cores, and about 4 GB of Go's build cache.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/test/plane"
)

// versions are those that the README names, but for the one that the other steps of the audit have.
var versions = []string{"1.37.2", "1.35.4", "1.34.4", "1.33.13"}

func main() {
	packages := flag.String("packages", "./... ./adapter/...", "`patterns` of packages, separated by spaces")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if flag.NArg() > 0 {
		versions = flag.Args()
	}
	if err := run(ctx, versions, strings.Fields(*packages)); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

// run tests one version after the other. A version that fails does not keep the next one from its turn.
func run(ctx context.Context, versions, patterns []string) error {
	packages, err := withControlPlane(ctx, patterns)
	if err != nil {
		return err
	}
	var rows []string
	bad := 0
	for _, version := range versions {
		s := server{version: version}
		err := s.test(ctx, packages)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil || len(s.failed) > 0 {
			bad++
		}
		rows = append(rows, s.row(err))
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Println("| Kubernetes | streaming lists | packages | result |")
	fmt.Println("|---|---|---|---|")
	fmt.Println(strings.Join(rows, "\n"))
	if bad > 0 {
		return fmt.Errorf("%d of %d versions failed", bad, len(versions))
	}
	return nil
}

// withControlPlane lists the packages whose tests start a control plane.
func withControlPlane(ctx context.Context, patterns []string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-f", "{{.ImportPath}} {{.TestImports}} {{.XTestImports}}"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []string
	for line := range strings.Lines(string(out)) {
		if words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" []\n", r) }); slices.ContainsFunc(words[1:], startsOne) {
			packages = append(packages, words[0])
		}
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("no test in %s starts a control plane", strings.Join(patterns, " "))
	}
	return packages, nil
}

func startsOne(path string) bool {
	return slices.Contains([]string{"test/plane", "test/planetest", "test/servertest", "test/operatortest"}, strings.TrimPrefix(path, "github.com/flyball-io/flyball/"))
}

// server is one version of Kubernetes and what became of the tests.
type server struct {
	version   string // as it was asked for; then as the server says
	streaming bool   // streaming lists are on by default
	asked     bool   // streaming is known
	passed    int    // packages
	failed    []string
}

// test builds the control plane, asks it for what it is, and runs the tests.
func (s *server) test(ctx context.Context, packages []string) error {
	if err := os.Setenv(plane.KubernetesEnv, s.version); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "\n== Kubernetes %s\n", s.version)
	if err := s.ask(ctx); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-p", "2", "-timeout", "60m"}, packages...)...)
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	read := make(chan error, 1)
	go func() { read <- s.read(io.TeeReader(r, os.Stderr)) }()
	failure := cmd.Run() // the output says what failed
	w.Close()
	if err := <-read; err != nil {
		return err
	}
	if failure != nil && len(s.failed) == 0 {
		return failure
	}
	return nil
}

// ask starts the control plane and takes its version, and whether it answers streaming lists.
func (s *server) ask(ctx context.Context) (err error) {
	p, err := plane.Start(ctx, plane.Options{Bare: true, Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	client, err := rest.HTTPClientFor(p.RESTConfig())
	if err != nil {
		return err
	}
	get := func(path string) (int, string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL()+path, nil)
		if err != nil {
			return 0, "", err
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body), err
	}
	_, body, err := get("/version")
	var version struct{ GitVersion string }
	if err == nil {
		err = json.Unmarshal([]byte(body), &version)
	}
	if err != nil {
		return fmt.Errorf("version: %w", err)
	}
	s.version = strings.TrimPrefix(version.GitVersion, "v")
	status, body, err := get("/api/v1/namespaces?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1")
	switch {
	case err != nil:
		return fmt.Errorf("streaming list: %w", err)
	case status == http.StatusOK:
		s.streaming = true
	case status != http.StatusUnprocessableEntity && status != http.StatusForbidden:
		return fmt.Errorf("streaming list: %d %s", status, body)
	}
	s.asked = true
	return nil
}

// read counts the packages in the output of "go test" and takes the names of tests and packages that failed.
func (s *server) read(out io.Reader) error {
	text, err := io.ReadAll(out)
	if err != nil {
		return err
	}
	var tests []string // of the package that comes next
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "ok  \t"):
			s.passed++
			tests = nil
		case strings.HasPrefix(line, "--- FAIL: "):
			tests = append(tests, words[2])
		case strings.HasPrefix(line, "FAIL\t"):
			name := strings.TrimPrefix(words[1], "github.com/flyball-io/flyball/")
			if len(tests) > 0 {
				name += " (" + strings.Join(tests, ", ") + ")"
			}
			s.failed = append(s.failed, name)
			tests = nil
		}
	}
	return nil
}

// row is the server's row in the table. err is why its tests have not run to their end.
func (s *server) row(err error) string {
	streaming, result := "?", "ok"
	if s.asked {
		streaming = map[bool]string{true: "yes", false: "no"}[s.streaming]
	}
	switch {
	case err != nil:
		result, _, _ = strings.Cut("not tested: "+err.Error(), "\n")
	case len(s.failed) > 0:
		result = "failed: " + strings.Join(s.failed, "; ")
	}
	return fmt.Sprintf("| %s | %s | %d | %s |", s.version, streaming, s.passed+len(s.failed), result)
}
