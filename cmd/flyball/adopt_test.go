package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/modfile"
)

// TestAdopt runs the scripts with projects in the shapes of kubebuilder.
func TestAdopt(t *testing.T) { scaffoldScripts(t, "testdata/adopt") }

// kubebuilderProject DIR MODULE writes the go.mod and go.sum of a project of controller-runtime, with the
// lowest versions that the packed cache takes.
func kubebuilderProject(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	file, err := filepath.Abs(filepath.Join("..", "..", "adapter", "go.mod"))
	ts.Check(err)
	data, err := os.ReadFile(file)
	ts.Check(err)
	adapter, err := modfile.Parse(file, data, nil)
	ts.Check(err)
	mod := &modfile.File{}
	ts.Check(mod.AddModuleStmt(args[1]))
	ts.Check(mod.AddGoStmt(adapter.Go.Version))
	for _, r := range adapter.Require {
		// The indirect ones, too: so nothing is fetched that the adapter does not need.
		if path := r.Mod.Path; path != "github.com/flyball-io/flyball" {
			ts.Check(mod.AddRequire(path, r.Mod.Version))
		}
	}
	data, err = mod.Format()
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(dir, "go.mod"), data, 0o666))
	ts.Check(ts.Exec("go", "-C", dir, "mod", "tidy"))
}
