package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/flyball-io/flyball/internal/tier"
)

// TestAdopt runs the scripts with projects in the shapes of kubebuilder; FLYBALL_LONG=1 has two more.
func TestAdopt(t *testing.T) {
	tier.Audit(t, "runs the go command")
	t.Parallel()
	scaffoldScripts(t, "testdata/adopt")
	if os.Getenv("FLYBALL_LONG") != "" {
		scaffoldScripts(t, "testdata/adopt_long")
	}
}

// kubebuilderProject DIR MODULE writes the go.mod and go.sum of a project of controller-runtime, with the
// newest versions that the adapter and the samples of the migration have. So nothing is fetched that they do not need.
func kubebuilderProject(ts *testscript.TestScript, neg bool, args []string) {
	mod := &modfile.File{}
	ts.Check(mod.AddModuleStmt(args[1]))
	newest := map[string]string{}
	for _, folder := range []string{"adapter", filepath.Join("examples", "migrating")} {
		file := filepath.Join("..", "..", folder, "go.mod")
		data, err := os.ReadFile(file)
		ts.Check(err)
		from, err := modfile.Parse(file, data, nil)
		ts.Check(err)
		ts.Check(mod.AddGoStmt(from.Go.Version))
		for _, r := range from.Require {
			if path := r.Mod.Path; !strings.HasPrefix(path, "github.com/flyball-io/") && semver.Compare(newest[path], r.Mod.Version) < 0 {
				newest[path] = r.Mod.Version
				ts.Check(mod.AddRequire(path, r.Mod.Version))
			}
		}
	}
	data, err := mod.Format()
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(filepath.Join(dir, "go.mod"), data, 0o666))
	ts.Check(ts.Exec("go", "-C", dir, "mod", "tidy"))
}
