package scaffold

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/flyball-io/flyball/internal/gomod"
)

const (
	flyballModule = "github.com/flyball-io/flyball"
	toolModule    = flyballModule + "/cmd/flyball"
)

// Source is where a project has Flyball from: a published version, or a checkout.
type Source struct {
	// Version is a published version, and Dir the folder of a checkout. One of them is empty.
	Version, Dir string
	// From is the path from the project to the checkout: relative if the project is within it.
	From string
}

// FindSource returns where the project in a folder has Flyball from: the checkout in dir, or, if that is empty, the
// checkout that this program was built from. A program that was installed from a published module has none: the project
// gets its version.
func FindSource(dir, project string) (*Source, error) {
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
	mod, err := readMod(filepath.Join(dir, "go.mod"))
	switch {
	case err == nil && mod.Module != nil && mod.Module.Mod.Path == flyballModule:
	case given:
		return nil, fmt.Errorf("--flyball-dir %s: is no checkout of %s", dir, flyballModule)
	default:
		if version := installed(); version != "" {
			return &Source{Version: version}, nil
		}
		return nil, fmt.Errorf("the checkout of %s that this program was built from is not at %s any more: name one by --flyball-dir", flyballModule, dir)
	}
	if project, err = filepath.EvalSymlinks(project); err == nil {
		project, err = filepath.Abs(project)
	}
	if err != nil {
		return nil, err
	}
	return &Source{Dir: dir, From: fromProject(project, dir)}, nil
}

// Published returns the source of a version, such as v0.1.0 or latest.
func Published(ctx context.Context, version string) (*Source, error) {
	found, err := gomod.Download(ctx, flyballModule, version)
	if err != nil {
		return nil, err
	}
	return &Source{Version: found.Version}, nil
}

// installed returns the published version that this program is, or "".
func installed() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path != toolModule || !semver.IsValid(info.Main.Version) || semver.Build(info.Main.Version) != "" {
		return ""
	}
	return info.Main.Version
}

// GoMod returns the go.mod of a module of Flyball, such as "adapter". The name of the core is "".
func (s *Source) GoMod(ctx context.Context, module string) (*modfile.File, error) {
	if s.Version == "" {
		return readMod(filepath.Join(s.Dir, filepath.FromSlash(module), "go.mod"))
	}
	found, err := gomod.Download(ctx, strings.TrimSuffix(flyballModule+"/"+module, "/"), s.Version)
	if err != nil {
		return nil, err
	}
	return readMod(found.GoMod)
}

// readMod reads a go.mod.
func readMod(file string) (*modfile.File, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(file, data, nil)
}

// kubernetes are the libraries that a project must have in one and the same version. "go mod tidy"
// removes those that the project does not use.
var kubernetes = []string{"k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/client-go"}

// newGoMod returns the go.mod of a new project, with the newest tested versions of the Kubernetes libraries, and its Go
// version.
func (s *Source) newGoMod(ctx context.Context, module string) (text []byte, goVersion string, err error) {
	core, err := s.GoMod(ctx, "")
	if err != nil {
		return nil, "", err
	}
	tool, err := s.GoMod(ctx, "cmd/flyball") // it has the newest versions, and the core the lowest
	if err != nil {
		return nil, "", err
	}
	mod := &modfile.File{}
	if err := mod.AddModuleStmt(module); err != nil {
		return nil, "", err
	}
	if err := mod.AddGoStmt(core.Go.Version); err != nil {
		return nil, "", err
	}
	if err := s.Require(mod, ""); err != nil {
		return nil, "", err
	}
	for _, r := range tool.Require {
		if slices.Contains(kubernetes, r.Mod.Path) {
			if err := mod.AddRequire(r.Mod.Path, r.Mod.Version); err != nil {
				return nil, "", err
			}
		}
	}
	mod.Cleanup()
	text, err = mod.Format()
	return text, core.Go.Version, err
}

// Require adds a module of Flyball to a go.mod, such as "adapter". The name of the core is "".
func (s *Source) Require(mod *modfile.File, module string) error {
	path := strings.TrimSuffix(flyballModule+"/"+module, "/")
	if s.Version != "" {
		return mod.AddRequire(path, s.Version)
	}
	if err := mod.AddRequire(path, "v0.0.0"); err != nil {
		return err
	}
	if err := mod.AddReplace(path, "", strings.TrimSuffix(s.From+"/"+module, "/"), ""); err != nil {
		return err
	}
	for _, r := range mod.Replace {
		if r.Old.Path == flyballModule && len(r.Syntax.Before) == 0 {
			r.Syntax.Before = []modfile.Comment{{Token: "// The checkout of Flyball that this module is built with."}}
		}
	}
	return nil
}

// fromProject returns the path of a checkout for a project: relative if the project is within the checkout, absolute
// elsewhere.
func fromProject(project, checkout string) string {
	rel, err := filepath.Rel(checkout, project)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return checkout
	}
	up, err := filepath.Rel(project, checkout)
	if err != nil {
		return checkout
	}
	if !strings.HasPrefix(up, ".") {
		up = "./" + up
	}
	return filepath.ToSlash(up)
}
