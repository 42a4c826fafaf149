package scaffold

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

const flyballModule = "github.com/flyball-io/flyball"

// source is the checkout of Flyball that a project is made from. The project refers to it while no
// version of Flyball is published.
type source struct {
	dir string
	mod *modfile.File
	// tool is the go.mod of this program. Its versions of the Kubernetes libraries are the newest tested ones,
	// and mod has the lowest.
	tool *modfile.File
}

// findSource uses the checkout in dir. An empty dir means the one that this program was compiled
// from.
func findSource(dir string) (*source, error) {
	given := dir != ""
	if !given {
		_, file, _, _ := runtime.Caller(0)
		if filepath.IsAbs(file) {
			dir = filepath.Join(filepath.Dir(file), "..", "..", "..", "..")
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	mod, err := readMod(dir)
	if err == nil && mod.Module != nil && mod.Module.Mod.Path == flyballModule {
		tool, err := readMod(filepath.Join(dir, "cmd", "flyball"))
		if err != nil {
			return nil, err
		}
		return &source{dir: dir, mod: mod, tool: tool}, nil
	}
	if given {
		return nil, fmt.Errorf("--flyball-dir %s: is no checkout of %s", dir, flyballModule)
	}
	return nil, fmt.Errorf("the checkout of %s that this program was built from is not at %s any more: name one by --flyball-dir", flyballModule, dir)
}

// readMod reads the go.mod in a folder.
func readMod(dir string) (*modfile.File, error) {
	file := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(file, data, nil)
}

// kubernetes are the libraries that a project must have in one and the same version. "go mod tidy"
// removes those that the project does not use.
var kubernetes = []string{"k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/client-go"}

// goMod returns the go.mod of a new project in dir: Flyball from the checkout, with the newest tested
// versions of the Kubernetes libraries.
func (s *source) goMod(module, dir string) ([]byte, error) {
	mod := &modfile.File{}
	if err := mod.AddModuleStmt(module); err != nil {
		return nil, err
	}
	if err := mod.AddGoStmt(s.mod.Go.Version); err != nil {
		return nil, err
	}
	if err := mod.AddRequire(flyballModule, "v0.0.0"); err != nil {
		return nil, err
	}
	for _, r := range s.tool.Require {
		if slices.Contains(kubernetes, r.Mod.Path) {
			if err := mod.AddRequire(r.Mod.Path, r.Mod.Version); err != nil {
				return nil, err
			}
		}
	}
	if err := mod.AddReplace(flyballModule, "", s.from(dir), ""); err != nil {
		return nil, err
	}
	r := mod.Replace[0].Syntax
	r.Before = append(r.Before, modfile.Comment{Token: "// Flyball is not published yet: this is the checkout that made the project."})
	mod.Cleanup()
	return mod.Format()
}

// from returns the path of the checkout for a project in dir: relative if dir is within the
// checkout, absolute elsewhere.
func (s *source) from(dir string) string {
	rel, err := filepath.Rel(s.dir, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return s.dir
	}
	up, err := filepath.Rel(dir, s.dir)
	if err != nil {
		return s.dir
	}
	if !strings.HasPrefix(up, ".") {
		up = "./" + up
	}
	return filepath.ToSlash(up)
}
