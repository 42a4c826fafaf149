package generate

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// project is a module that is being read.
type project struct {
	Options
	ctx       context.Context
	module    string // module path
	moduleDir string
	whole     bool // all of its packages are read
	all       bool // all of its packages are checked
	source    bool // what cgo makes and the standard library are read, too
	fset      *token.FileSet
	roots     []*loader.Package
	collector *markers.Collector
	checker   *loader.TypeChecker
	marks     []*mark
	warnings  Problems
	std       []*loader.Package            // without source
	exports   map[string]*packages.Package // with export data, by path
}

// ErrNoModule says that a folder belongs to no Go module.
var ErrNoModule = errors.New("no go.mod here or in a folder above")

// findModule finds the module of Dir.
func (p *project) findModule() error {
	dir, err := moduleDir(p.Dir)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	p.moduleDir, p.module = dir, modfile.ModulePath(data)
	if p.module == "" {
		return fmt.Errorf("%s: no module path", filepath.Join(dir, "go.mod"))
	}
	return nil
}

// load finds the module and parses its packages.
func (p *project) load() error {
	err := p.findModule()
	if err != nil {
		return err
	}
	dir := p.moduleDir
	patterns := make([]string, len(p.Paths))
	for i, s := range p.Paths {
		if patterns[i], err = p.pattern(s); err != nil {
			return err
		}
		p.whole = p.whole || patterns[i] == p.module+"/..."
	}
	p.fset = token.NewFileSet()
	config := packages.Config{Context: p.ctx, Dir: dir, Fset: p.fset, Mode: packages.NeedModule, Env: p.env()}
	if !p.source {
		// The loader wants the files that are compiled. They are the same but with cgo, and to ask for them costs more
		// than all the rest. See lacking.
		config.BuildFlags = []string{"-compiled=false"}
	}
	roots, err := loader.LoadRootsWithConfig(&config, patterns...)
	if err != nil {
		return err
	}
	var problems Problems
	for _, r := range roots {
		if r.Module != nil && r.Module.Dir != dir {
			continue // another module whose path begins like this one's
		}
		r.NeedSyntax()
		problems = append(problems, p.errorsOf(r.Package)...)
		p.roots = append(p.roots, r)
	}
	if len(p.roots) == 0 {
		return p.nothingFound()
	}
	p.checker = &loader.TypeChecker{NodeFilters: []loader.NodeFilter{
		deepcopy.Generator{}.CheckFilter(), crd.Generator{}.CheckFilter(),
	}}
	return problems.err()
}

// env returns the environment of the go command.
func (p *project) env() []string { return append(os.Environ(), p.Env...) }

// nothingFound returns the error for paths without packages, with a likely reason.
func (p *project) nothingFound() error {
	err := fmt.Errorf("no packages match %s", strings.Join(p.Paths, " "))
	cmd := exec.CommandContext(p.ctx, "go", "env", "GOWORK")
	cmd.Dir, cmd.Env = p.moduleDir, p.env()
	out, _ := cmd.Output()
	if work := strings.TrimSpace(string(out)); work != "" && work != "off" {
		return fmt.Errorf("%w: does %s name this module? (GOWORK=off passes it over)", err, work)
	}
	return err
}

// errorsOf returns the errors of one package alone: files that do not parse, and missing imports.
func (p *project) errorsOf(pkg *packages.Package) Problems {
	alone := *pkg
	alone.Imports = nil
	return p.packageErrors([]*packages.Package{&alone})
}

// moduleDir returns the folder of the go.mod that governs dir.
func moduleDir(dir string) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		_, err := os.Stat(filepath.Join(d, "go.mod"))
		if err == nil {
			// The go command prints resolved paths.
			return filepath.EvalSymlinks(d)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%s: %w", dir, ErrNoModule)
		}
	}
}

// pattern turns a folder into an import path. With folders the loader would read nested modules.
func (p *project) pattern(s string) (string, error) {
	if !filepath.IsAbs(s) && s != "." && s != ".." && !strings.HasPrefix(s, "./") && !strings.HasPrefix(s, "../") {
		if s == p.module || strings.HasPrefix(s, p.module+"/") {
			return s, nil
		}
		return "", fmt.Errorf("path %q: neither a folder that begins with ./ nor a package of module %s", s, p.module)
	}
	dir, all := folder(s)
	abs := p.abs(dir)
	if _, err := os.Stat(abs); err != nil {
		return "", fmt.Errorf("path %q: %w", s, err)
	}
	abs, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(p.moduleDir, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("path %q: outside of module %s (%s)", s, p.module, p.moduleDir)
	}
	s = path.Join(p.module, filepath.ToSlash(rel))
	if all {
		s += "/..."
	}
	return s, nil
}

// folder splits off "/...".
func folder(s string) (dir string, all bool) {
	if s == "..." {
		return ".", true
	}
	return strings.CutSuffix(s, "/...")
}

// folders calls f for each folder of the module that Paths name. It skips nested modules and
// folders that the go command ignores.
func (p *project) folders(f func(dir string) error) error {
	for _, s := range p.Paths {
		dir, all := folder(s)
		if rest, ok := strings.CutPrefix(dir, p.module); ok {
			dir = filepath.Join(p.moduleDir, filepath.FromSlash(rest))
		}
		dir = p.abs(dir)
		if !all {
			if err := f(dir); err != nil {
				return err
			}
			continue
		}
		err := filepath.WalkDir(dir, func(d string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return err
			}
			if d != dir {
				name := e.Name()
				if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" {
					return filepath.SkipDir
				}
				if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
					return filepath.SkipDir
				}
			}
			return f(d)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
