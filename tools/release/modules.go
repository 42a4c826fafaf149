package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

const corePath = "github.com/flyball-io/flyball"

// mod is a released module: its folder with slashes. The core's is "".
type mod string

// modules are those that are released. Each requires only those before it.
var modules = []mod{"", "controlplane", "adapter", "adapter/clientgo", "adapter/ctrl", "cmd/flyball"}

func (m mod) path() string { return path.Join(corePath, string(m)) }

func (m mod) tag(version string) string { return path.Join(string(m), version) }

func (m mod) file(root, name string) string {
	return filepath.Join(root, filepath.FromSlash(string(m)), name)
}

// modFile reads the go.mod of a module.
func (m mod) modFile(root string) (*modfile.File, error) {
	name := m.file(root, "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, data, nil)
}

// ours are the released modules that a module requires.
func ours(f *modfile.File) (out []mod) {
	for _, r := range f.Require {
		for _, m := range modules {
			if r.Mod.Path == m.path() {
				out = append(out, m)
			}
		}
	}
	return out
}

// check says what keeps a version from being released.
func check(root, version string, worktree bool) error {
	if !worktree {
		if changes, err := git(root, "status", "--porcelain"); err != nil {
			return err
		} else if changes != "" {
			return fmt.Errorf("the working tree has changes:\n%s", changes)
		}
	}
	if tags, err := git(root, "tag", "--list", version); err != nil {
		return err
	} else if tags != "" {
		return fmt.Errorf("the tag %s is there already", version)
	}
	for i, m := range modules {
		f, err := m.modFile(root)
		if err != nil {
			return err
		}
		if got := f.Module.Mod.Path; got != m.path() {
			return fmt.Errorf("%s: the module is %s, want %s", f.Syntax.Name, got, m.path())
		}
		// The control plane replaces the modules that Kubernetes replaces, and is built as a main module only.
		if len(f.Replace) > 0 && m != "controlplane" {
			return fmt.Errorf("%s: replace %s: go install refuses such a module", f.Syntax.Name, f.Replace[0].Old.Path)
		}
		for _, r := range f.Require {
			if strings.HasPrefix(r.Mod.Path, corePath+"/") || r.Mod.Path == corePath {
				if !slices.ContainsFunc(modules[:i], func(m mod) bool { return m.path() == r.Mod.Path }) {
					return fmt.Errorf("%s requires %s, which is not released before it", f.Syntax.Name, r.Mod.Path)
				}
			}
		}
	}
	return nil
}
