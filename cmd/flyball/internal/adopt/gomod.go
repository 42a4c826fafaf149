package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
)

// compared are the modules whose minor version a program chooses with care. Where it is below what the packed cache
// needs, their rise is built alone, before the packed cache is there.
var compared = []string{ctrlPath, "k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/client-go"}

// Need is a replace directive that puts another module, of an earlier version, in the place of one that the packed cache
// needs.
type Need struct {
	// Line is the line of the directive.
	Line int
	// What is the module path, and Least the lowest version that the packed cache takes.
	What, Least string
	// By is the other module, and Have its version.
	By, Have string
}

// VersionError says which replace directives stand against the packed cache. Nothing was changed.
type VersionError struct {
	// File is the project's go.mod.
	File string
	// Needs has one directive at least.
	Needs []Need
}

func (e *VersionError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s cannot take the packed cache:", e.File)
	for _, n := range e.Needs {
		fmt.Fprintf(&b, "\n  %s:%d: it replaces %s by %s %s, and the packed cache needs %s or later: replace it by a later version, or remove the directive",
			e.File, n.Line, n.What, n.By, n.Have, n.Least)
	}
	return b.String()
}

// Lift is a version in a go.mod that the change raises.
type Lift struct {
	// What is "go", "toolchain" or a module path, with "replace" before it for the version in a replace directive.
	What string
	// From and To are the versions. To is empty for a toolchain line that goes away.
	From, To string
	// Indirect says that the program does not import the module.
	Indirect bool
}

func (l Lift) String() string {
	switch {
	case l.To == "":
		return fmt.Sprintf("%s %s away", l.What, l.From)
	case l.Indirect:
		return fmt.Sprintf("%s %s to %s (indirect)", l.What, l.From, l.To)
	}
	return fmt.Sprintf("%s %s to %s", l.What, l.From, l.To)
}

// earlier reports whether the minor version of one is below that of the other. A folder has no version.
func earlier(version, least string) bool {
	return version != "" && least != "" && semver.Compare(semver.MajorMinor(version), semver.MajorMinor(least)) < 0
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

// check returns a *VersionError if a go.mod replaces a library by a fork of an earlier version. Other versions are raised:
// see add.
func (a *adapter) check(file string, mod *modfile.File) error {
	e := &VersionError{File: file}
	for _, r := range mod.Replace {
		// A module that is replaced by a folder has no version: the build decides.
		if least := scaffold.Required(a.needs, r.Old.Path); slices.Contains(compared, r.Old.Path) && holds(mod, r) && r.New.Path != r.Old.Path && earlier(r.New.Version, least) {
			e.Needs = append(e.Needs, Need{Line: r.Syntax.Start.Line, What: r.Old.Path, Least: least, By: r.New.Path, Have: r.New.Version})
		}
	}
	if len(e.Needs) == 0 {
		return nil
	}
	return e
}

// holds reports whether a replace directive is one for the required version.
func holds(mod *modfile.File, r *modfile.Replace) bool {
	return r.Old.Version == "" || r.Old.Version == scaffold.Required(mod, r.Old.Path)
}

// add returns a go.mod that requires the adapter and, from a checkout, the core. Its versions are lifted to theirs.
func (a *adapter) add(data []byte) ([]byte, error) {
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(scaffold.LiftGo(mod, scaffold.GoVersion(a.needs)), a.lift(mod)); err != nil {
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

// lift raises what a requirement of the adapter alone does not: replacements of libraries by themselves, and the other
// Kubernetes libraries, which are released together with k8s.io/apimachinery and only fit their own minor version.
func (a *adapter) lift(mod *modfile.File) error {
	const machinery = "k8s.io/apimachinery"
	have, least := effective(mod, machinery), scaffold.Required(a.needs, machinery)
	together := func(path, v string) bool {
		return earlier(have, least) && strings.HasPrefix(path, "k8s.io/") && semver.MajorMinor(v) == semver.MajorMinor(have)
	}
	to := func(path, v string) string {
		switch needed := scaffold.Required(a.needs, path); {
		case slices.Contains(compared, path) && earlier(v, needed):
			return needed
		case together(path, v):
			return least
		}
		return ""
	}
	for _, r := range slices.Clone(mod.Replace) {
		if v := to(r.Old.Path, r.New.Version); v != "" && r.New.Path == r.Old.Path && holds(mod, r) {
			if err := mod.AddReplace(r.Old.Path, r.Old.Version, r.New.Path, v); err != nil {
				return err
			}
		}
	}
	for _, r := range slices.Clone(mod.Require) {
		if v := to(r.Mod.Path, r.Mod.Version); v != "" {
			if err := mod.AddRequire(r.Mod.Path, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// effective returns the version of a module that a go.mod requires, or replaces it by.
func effective(mod *modfile.File, path string) string {
	for _, r := range mod.Replace {
		if r.Old.Path == path && r.New.Path == path && holds(mod, r) {
			return r.New.Version
		}
	}
	return scaffold.Required(mod, path)
}

// lifts returns which versions of a go.mod the change has raised.
func lifts(before *modfile.File, after []byte) (all []Lift, err error) {
	mod, err := modfile.Parse("go.mod", after, nil)
	if err != nil {
		return nil, err
	}
	if was, is := scaffold.GoVersion(before), scaffold.GoVersion(mod); scaffold.CompareGo(was, is) < 0 {
		all = append(all, Lift{What: "go", From: was, To: is})
	}
	if before.Toolchain != nil && mod.Toolchain == nil {
		all = append(all, Lift{What: "toolchain", From: before.Toolchain.Name})
	}
	for _, old := range before.Replace {
		for _, r := range mod.Replace {
			if r.Old == old.Old && r.New.Path == old.New.Path && semver.Compare(old.New.Version, r.New.Version) < 0 {
				all = append(all, Lift{What: "replace " + r.Old.Path, From: old.New.Version, To: r.New.Version})
			}
		}
	}
	for _, indirect := range []bool{false, true} {
		for _, r := range mod.Require {
			if was := scaffold.Required(before, r.Mod.Path); was != "" && r.Indirect == indirect && semver.Compare(was, r.Mod.Version) < 0 {
				all = append(all, Lift{r.Mod.Path, was, r.Mod.Version, indirect})
			}
		}
	}
	return all, nil
}

// libraries reports whether the minor version of a library rises that a program chooses with care.
func libraries(all []Lift) bool {
	return slices.ContainsFunc(all, func(l Lift) bool {
		return slices.Contains(compared, strings.TrimPrefix(l.What, "replace ")) && earlier(l.From, l.To)
	})
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
