package generate

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/tools/go/packages"
)

// compile checks the packages that have generated code or kinds, and all packages of the module
// that they import. The generated code replaces that on disk.
func (p *project) compile(code map[string][]byte) (Problems, error) {
	var paths []string
	for _, r := range p.roots {
		if len(r.CompiledGoFiles) == 0 {
			continue
		}
		if _, generated := code[filepath.Join(filepath.Dir(r.CompiledGoFiles[0]), codeFile)]; generated || p.hasKinds(r) {
			paths = append(paths, r.PkgPath)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	pkgs, err := packages.Load(&packages.Config{
		Context: p.ctx, Dir: p.moduleDir, Env: p.env(),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedModule | packages.NeedExportFile,
	}, paths...)
	if err != nil {
		return nil, err
	}
	c := &compiler{project: p, code: code, fset: token.NewFileSet(), done: map[string]*types.Package{}, all: map[string]*packages.Package{}}
	c.outside = importer.ForCompiler(c.fset, "gc", c.exported)
	packages.Visit(pkgs, nil, func(pkg *packages.Package) { c.all[pkg.PkgPath] = pkg })
	for _, pkg := range pkgs {
		// The errors are in c.problems. A package with errors is returned as far as it is correct.
		if _, err := c.Import(pkg.PkgPath); err != nil {
			return nil, err
		}
	}
	return c.problems, nil
}

// compiler checks the types of the module's packages from their source. Other packages come from
// the go command's cache.
type compiler struct {
	*project
	code     map[string][]byte
	fset     *token.FileSet
	all      map[string]*packages.Package
	outside  types.Importer
	done     map[string]*types.Package
	problems Problems
}

// exported opens the export data of a package in the go command's cache.
func (c *compiler) exported(path string) (io.ReadCloser, error) {
	pkg := c.all[path]
	switch {
	case pkg == nil:
		return nil, errors.New("not found")
	case pkg.ExportFile == "" && len(pkg.Errors) > 0:
		return nil, errors.New(pkg.Errors[0].Msg)
	case pkg.ExportFile == "":
		return nil, errors.New("does not compile")
	}
	return os.Open(pkg.ExportFile)
}

// Import is called for the packages to check, and by the type checker for their imports.
func (c *compiler) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if done := c.done[path]; done != nil {
		return done, nil
	}
	pkg := c.all[path]
	if pkg == nil || pkg.Module == nil || pkg.Module.Dir != c.moduleDir {
		return c.outside.Import(path)
	}
	files, err := c.parse(pkg)
	if err != nil {
		return nil, err
	}
	config := types.Config{
		Importer:    c,
		Sizes:       types.SizesFor("gc", runtime.GOARCH),
		FakeImportC: true,
		Error:       c.typeError,
	}
	if pkg.Module.GoVersion != "" {
		config.GoVersion = "go" + pkg.Module.GoVersion
	}
	checked, err := config.Check(path, c.fset, files, nil)
	c.done[path] = checked
	var known types.Error
	if err != nil && !errors.As(err, &known) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return checked, nil
}

func (c *compiler) typeError(err error) {
	var e types.Error
	if errors.As(err, &e) {
		c.add(e.Fset.Position(e.Pos), e.Msg)
	}
}

func (c *compiler) add(at token.Position, message string) {
	c.problems = append(c.problems, problemf(Position{File: c.rel(at.Filename), Line: at.Line, Column: at.Column}, "", "%s", message))
}

// parse reads the files of a package, with the new generated one.
func (c *compiler) parse(pkg *packages.Package) ([]*ast.File, error) {
	names := map[string][]byte{}
	for _, name := range pkg.CompiledGoFiles {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		names[name] = data
		names[filepath.Join(filepath.Dir(name), codeFile)] = nil
	}
	var files []*ast.File
	for _, name := range slices.Sorted(maps.Keys(names)) {
		data := names[name]
		if filepath.Base(name) == codeFile {
			if data = c.code[name]; data == nil {
				continue
			}
		}
		file, err := parser.ParseFile(c.fset, name, data, parser.SkipObjectResolution)
		var list scanner.ErrorList
		switch {
		case errors.As(err, &list):
			for _, e := range list {
				c.add(e.Pos, e.Msg)
			}
		case err != nil:
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
