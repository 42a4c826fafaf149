package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/plane"
)

// TestScaffold runs the scripts that make projects, outside of the workspace, as a user would.
func TestScaffold(t *testing.T) {
	tier.Audit(t, "runs the go command")
	t.Parallel()
	scaffoldScripts(t, "testdata/scaffold")
	if os.Getenv("FLYBALL_LONG") != "" {
		scaffoldScripts(t, "testdata/scaffold_long")
	}
}

// TestScaffoldOne runs the one script that makes, builds and tests a project outside of the audit.
func TestScaffoldOne(t *testing.T) {
	t.Parallel()
	scaffoldScripts(t, "testdata/scaffold_one")
}

func scaffoldScripts(t *testing.T, dir string) {
	binary, rules := servers(t)
	path := scriptEnv(t)
	out, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB", "GOFLAGS").Output()
	if err != nil {
		t.Fatal(err)
	}
	var goEnv map[string]string
	if err := json.Unmarshal(out, &goEnv); err != nil {
		t.Fatal(err)
	}
	// Scripts vet a project when all of it is there, so its tests need not.
	goEnv["GOFLAGS"] = strings.TrimSpace(goEnv["GOFLAGS"] + " " + noDebug + " -vet=off")
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.FromSlash(dir),
		UpdateScripts: os.Getenv("UPDATE_GOLDEN") != "",
		Condition:     condition,
		Setup: func(env *testscript.Env) error {
			env.Setenv(plane.BinaryEnv, binary)
			env.Setenv(plane.RulesEnv, rules)
			env.Setenv("GOWORK", "off")
			env.Setenv("CHECKOUT", checkout)
			path(env)
			for k, v := range goEnv {
				env.Setenv(k, v)
			}
			env.Values[backgroundKey{}] = &background{}
			env.Values[programKey{}] = &program{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"empty":    emptyDir,
			"tree":     tree,
			"up":       up,
			"down":     down,
			"get":      get,
			"runs":     runs,
			"ends":     ends,
			"freeport": freeport,
			"fetch":    fetch,
			"applied":  applied,
		},
	})
}

// exits STATUS COMMAND... runs a command that must end with this exit status, and must leave no
// copy of a project.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
	for _, pattern := range []string{filepath.Join(ts.Getenv("TMPDIR"), "flyball-project-*"), filepath.Join(ts.MkAbs("."), ".flyball-*")} {
		left, err := filepath.Glob(pattern)
		ts.Check(err)
		if len(left) > 0 {
			ts.Fatalf("left behind: %v", left)
		}
	}
}

// emptyDir DIR checks that a folder is empty.
func emptyDir(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(entries) > 0 {
		ts.Fatalf("%s has %v", args[0], entries)
	}
}

// applied FILE applies the objects in a file to the cluster of $KUBECONFIG.
func applied(ts *testscript.TestScript, neg bool, args []string) {
	objs, err := manifest.Read(ts.MkAbs(args[0]))
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := client.Dial(ctx, client.ConfigOptions{Kubeconfig: ts.Getenv("KUBECONFIG")}, client.Options{})
	ts.Check(err)
	defer c.Close()
	ts.Check(manifest.Apply(ctx, c, "test", objs, nil))
}

// tree DIR FILE writes the names of all files in a folder, without those of bin, to a file.
func tree(ts *testscript.TestScript, neg bool, args []string) {
	var out strings.Builder
	ts.Check(fs.WalkDir(os.DirFS(ts.MkAbs(args[0])), ".", func(name string, d fs.DirEntry, err error) error {
		if name == "bin" {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() {
			out.WriteString(name + "\n")
		}
		return err
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(out.String()), 0o666))
}
