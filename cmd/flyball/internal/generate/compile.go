package generate

import (
	"context"
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
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Compile checks that all packages of the module of o.Dir compile, with their tests. It builds and writes
// nothing. The error is a [Problems] if some do not.
func Compile(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	p := &project{Options: o, ctx: ctx}
	if err := p.findModule(); err != nil {
		return err
	}
	problems, err := p.checkTypes(nil, true, "./...")
	if err != nil {
		return err
	}
	return problems.err()
}

// compile checks the packages that have generated code or kinds, and all packages of the module
// that they import; or all packages, with their tests. The generated code replaces that on disk.
func (p *project) compile(code map[string][]byte) (Problems, error) {
	if p.all {
		return p.checkTypes(code, true, "./...")
	}
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
	return p.checkTypes(code, false, paths...)
}

// checkTypes checks packages and all packages of the module that they import. Generated code replaces that on
// disk, unless it is nil.
func (p *project) checkTypes(code map[string][]byte, tests bool, patterns ...string) (Problems, error) {
	config := packages.Config{
		Context: p.ctx, Dir: p.moduleDir, Env: p.env(), Tests: tests,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule | packages.NeedEmbedFiles,
	}
	c, err := p.checkOnce(config, code, patterns)
	if err == nil && c.cgo {
		// Its code is compiled from what cgo makes of it. To ask for that costs more than all the rest.
		config.Mode |= packages.NeedCompiledGoFiles
		c, err = p.checkOnce(config, code, patterns)
	}
	if err != nil {
		return nil, err
	}
	return c.problems, nil
}

// checkOnce loads packages and checks them.
func (p *project) checkOnce(config packages.Config, code map[string][]byte, patterns []string) (*compiler, error) {
	pkgs, err := packages.Load(&config, patterns...)
	if err != nil {
		return nil, err
	}
	c := &compiler{project: p, code: code, fset: token.NewFileSet(), done: map[*packages.Package]*types.Package{}, exports: map[string]*packages.Package{}}
	if err := c.load(config, pkgs); err != nil {
		return nil, err
	}
	c.outside = importer.ForCompiler(c.fset, "gc", c.exported)
	for _, pkg := range c.own {
		// The errors are in c.problems. A package with errors is returned as far as it is correct.
		if _, err := c.check(pkg); err != nil {
			return nil, err
		}
	}
	for _, pkg := range c.own {
		c.problems = append(c.problems, p.errorsOf(pkg)...)
	}
	return c, nil
}

// compiler checks the types of the module's packages from their source. The go command compiles other
// packages, or has them in its cache.
type compiler struct {
	*project
	code     map[string][]byte
	fset     *token.FileSet
	own      []*packages.Package          // of the module
	exports  map[string]*packages.Package // the others that they import, by path
	outside  types.Importer
	done     map[*packages.Package]*types.Package
	cgo      bool // a package of the module uses it
	problems Problems
}

// load finds the packages of the module, and loads what they import from others.
func (c *compiler) load(config packages.Config, pkgs []*packages.Package) error {
	imports := map[string]bool{}
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		if c.isOwn(pkg) && !isTestMain(pkg) {
			c.own = append(c.own, pkg)
			for _, i := range pkg.Imports {
				imports[i.PkgPath] = !c.isOwn(i)
			}
		}
	})
	for name, data := range c.code {
		file, err := parser.ParseFile(c.fset, name, data, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if _, known := imports[path]; !known {
				imports[path] = !slices.ContainsFunc(c.own, func(pkg *packages.Package) bool { return pkg.PkgPath == path })
			}
		}
	}
	var outside []string
	for path, other := range imports {
		if other && path != "unsafe" {
			outside = append(outside, path)
		}
	}
	if len(outside) == 0 {
		return nil
	}
	config.Mode, config.Tests = packages.NeedName|packages.NeedExportFile, false
	found, err := packages.Load(&config, outside...)
	for _, pkg := range found {
		c.exports[pkg.PkgPath] = pkg
	}
	return err
}

// isTestMain reports whether a package is the program that the go command makes of tests. Its only file is in the
// go command's cache.
func isTestMain(pkg *packages.Package) bool {
	return pkg.Name == "main" && strings.HasSuffix(pkg.ID, ".test") &&
		!slices.ContainsFunc(pkg.GoFiles, func(name string) bool { return filepath.Ext(name) == ".go" })
}

func (c *compiler) isOwn(pkg *packages.Package) bool {
	return pkg.Module != nil && pkg.Module.Dir == c.moduleDir
}

// exported opens the export data of a package in the go command's cache.
func (c *compiler) exported(path string) (io.ReadCloser, error) {
	pkg := c.exports[path]
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

// importing resolves the imports of one package. For a test they are the packages that are compiled for it.
type importing struct {
	*compiler
	by *packages.Package
}

// Import is called by the type checker.
func (i importing) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	pkg := i.by.Imports[path]
	if pkg == nil { // an import of new generated code
		if at := slices.IndexFunc(i.own, func(pkg *packages.Package) bool { return pkg.ID == path }); at >= 0 {
			pkg = i.own[at]
		}
	}
	switch {
	case pkg == nil:
		return i.outside.Import(path)
	case i.isOwn(pkg):
		return i.check(pkg)
	}
	return i.outside.Import(pkg.PkgPath)
}

// check checks a package of the module, once.
func (c *compiler) check(pkg *packages.Package) (*types.Package, error) {
	if done, ok := c.done[pkg]; ok {
		if done == nil {
			return nil, errors.New("import cycle not allowed")
		}
		return done, nil
	}
	c.done[pkg] = nil
	files, err := c.parse(pkg)
	if err != nil {
		return nil, err
	}
	config := types.Config{
		Importer:    importing{c, pkg},
		Sizes:       types.SizesFor("gc", runtime.GOARCH),
		FakeImportC: true,
		Error:       c.typeError,
	}
	if pkg.Module.GoVersion != "" {
		config.GoVersion = "go" + pkg.Module.GoVersion
	}
	checked, err := config.Check(pkg.PkgPath, c.fset, files, nil)
	c.done[pkg] = checked
	var known types.Error
	if err != nil && !errors.As(err, &known) {
		return nil, fmt.Errorf("%s: %w", pkg.PkgPath, err)
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

// wasRead reports whether code was generated for a package if it asks for that.
func (c *compiler) wasRead(pkg *packages.Package) bool {
	return slices.ContainsFunc(c.roots, func(r *loader.Package) bool { return r.PkgPath == pkg.PkgPath })
}

// parse reads the files of a package, with the new generated one.
func (c *compiler) parse(pkg *packages.Package) ([]*ast.File, error) {
	from := pkg.GoFiles
	if len(pkg.CompiledGoFiles) > 0 {
		from = pkg.CompiledGoFiles
	}
	names := map[string][]byte{}
	for _, name := range from {
		if c.code != nil {
			generated := filepath.Join(filepath.Dir(name), codeFile)
			names[generated] = c.code[generated]
		}
	}
	for _, name := range from {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		// What was generated earlier is written anew or removed, if the package was read. The file of another tool stays.
		gone := c.code != nil && filepath.Base(name) == codeFile && codeMarkLine.Match(data) && c.wasRead(pkg)
		if names[name] == nil && !gone {
			names[name] = data
		}
	}
	var files []*ast.File
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] == nil {
			continue
		}
		file, err := parser.ParseFile(c.fset, name, names[name], parser.SkipObjectResolution)
		var list scanner.ErrorList
		switch {
		case errors.As(err, &list):
			for _, e := range list {
				c.add(e.Pos, e.Msg)
			}
		case err != nil:
			return nil, err
		}
		c.cgo = c.cgo || slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` })
		files = append(files, file)
	}
	return files, nil
}
