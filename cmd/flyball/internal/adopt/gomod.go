package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
)

// compared are the modules whose minor version a program chooses with care: the packed cache must not
// raise it.
var compared = []string{ctrlPath, "k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/client-go"}

// Need is a requirement of the packed cache that a project does not meet.
type Need struct {
	// What is a module path.
	What string
	// Have is the version in the project's go.mod, and Least the lowest that the packed cache takes.
	Have, Least string
	// Replaced says that a replace directive decides about the version.
	Replaced bool
}

// VersionError says which requirements stand against the packed cache. Nothing was changed.
type VersionError struct {
	// File is the project's go.mod.
	File string
	// Needs has one requirement at least.
	Needs []Need
}

func (e *VersionError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s cannot take the packed cache:", e.File)
	var get []string
	for _, n := range e.Needs {
		verb := "requires"
		if n.Replaced {
			verb = "replaces"
		}
		fmt.Fprintf(&b, "\n  it %s %s %s, and the packed cache needs %s or later", verb, n.What, n.Have, n.Least)
		if n.Replaced {
			b.WriteString(": remove the replace directive")
		} else {
			get = append(get, n.What+"@"+n.Least)
		}
	}
	if len(get) > 0 {
		fmt.Fprintf(&b, "\nTo move up first: go get %s && go mod tidy", strings.Join(get, " "))
	}
	return b.String()
}

// adapter is the module of the packed cache.
type adapter struct {
	from  *scaffold.Source
	needs *modfile.File
}

// findAdapter finds the module by o.Version, o.FlyballDir, or else by what this program was built from.
func findAdapter(ctx context.Context, o *Options, project string) (*adapter, error) {
	from, err := scaffold.FindSource(o.FlyballDir, project)
	if o.Version != "" {
		if from, err = scaffold.Published(ctx, o.Version); err != nil {
			err = fmt.Errorf("--version: %w; --flyball-dir takes a checkout instead", err)
		}
	}
	if err != nil {
		return nil, err
	}
	needs, err := from.GoMod(ctx, "adapter")
	return &adapter{from, needs}, err
}

// check compares a go.mod with what the adapter needs of libraries that a program chooses with care. The error is a
// *VersionError. The Go version is lifted: see add.
func (a *adapter) check(file string, mod *modfile.File) error {
	e := &VersionError{File: file}
	for _, path := range compared {
		least := version(a.needs, path)
		n := Need{What: path, Have: version(mod, path), Least: least}
		for _, r := range mod.Replace {
			if r.Old.Path == path && (r.Old.Version == "" || r.Old.Version == n.Have) {
				n.Have, n.Replaced = r.New.Version, true
			}
		}
		// A module that is replaced by a folder has no version: the build decides.
		if least != "" && n.Have != "" && semver.Compare(semver.MajorMinor(n.Have), semver.MajorMinor(least)) < 0 {
			e.Needs = append(e.Needs, n)
		}
	}
	if len(e.Needs) == 0 {
		return nil
	}
	return e
}

// goVersion returns the Go version of a go.mod. One without it has 1.16.
func goVersion(mod *modfile.File) string {
	if mod.Go == nil {
		return "1.16"
	}
	return mod.Go.Version
}

// compareGo compares Go versions, such as 1.26 and 1.26.0, which are equal here.
func compareGo(a, b string) int { return semver.Compare("v"+a, "v"+b) }

// add returns a go.mod that requires the adapter and, from a checkout, the core. Its Go version is lifted to theirs.
func (a *adapter) add(data []byte) ([]byte, error) {
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	if err := liftGo(mod, goVersion(a.needs)); err != nil {
		return nil, err
	}
	if a.from.Version == "" {
		if err := a.from.Require(mod, ""); err != nil {
			return nil, err
		}
	}
	if err := a.from.Require(mod, "adapter"); err != nil {
		return nil, err
	}
	return mod.Format()
}

// liftGo raises the Go version of a go.mod. A toolchain that is too early for it goes away.
func liftGo(mod *modfile.File, least string) error {
	if compareGo(goVersion(mod), least) >= 0 {
		return nil
	}
	if err := mod.AddGoStmt(least); err != nil {
		return err
	}
	if mod.Toolchain != nil && compareGo(strings.TrimPrefix(mod.Toolchain.Name, "go"), least) <= 0 {
		mod.DropToolchainStmt()
	}
	return nil
}

// lifts says which versions of a go.mod the change has raised.
func lifts(before *modfile.File, after []byte) (notes []string, err error) {
	mod, err := modfile.Parse("go.mod", after, nil)
	if err != nil {
		return nil, err
	}
	if was, is := goVersion(before), goVersion(mod); compareGo(was, is) < 0 {
		notes = append(notes, fmt.Sprintf("go.mod says go %s, before %s: Flyball needs that Go, and so do your CI and images now", is, was))
	}
	var direct []string
	indirect := 0
	for _, r := range mod.Require {
		was := version(before, r.Mod.Path)
		switch {
		case was == "" || semver.Compare(was, r.Mod.Version) >= 0:
		case r.Indirect:
			indirect++
		default:
			direct = append(direct, fmt.Sprintf("%s %s to %s", r.Mod.Path, was, r.Mod.Version))
		}
	}
	if indirect > 0 {
		direct = append(direct, counted(indirect, "indirect one"))
	}
	if len(direct) > 0 {
		notes = append(notes, "Flyball requires later versions of modules, which the change of go.mod has: "+strings.Join(direct, ", "))
	}
	return notes, nil
}

// dropAdapter returns a go.mod without the adapter, and without the core unless it is used.
func dropAdapter(data []byte, keepCore bool) ([]byte, error) {
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	for _, path := range []string{adapterPath, corePath} {
		if path == corePath && keepCore {
			continue
		}
		if err := mod.DropRequire(path); err != nil {
			return nil, err
		}
		for _, r := range slices.Clone(mod.Replace) {
			if r.Old == (module.Version{Path: path}) {
				if err := mod.DropReplace(path, ""); err != nil {
					return nil, err
				}
			}
		}
	}
	mod.Cleanup()
	return mod.Format()
}
