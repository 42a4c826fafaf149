package generate

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
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
	c, err := p.newCompiler(true, false, "./...")
	if err != nil {
		return err
	}
	problems, err := c.checkAll(nil)
	if err != nil {
		return err
	}
	return problems.err()
}

// compiler checks the types of the module's packages from their source. The go command compiles other
// packages, or has them in its cache. Or it checks types alone: then nothing is compiled, and of each package
// only that is read to which types refer.
type compiler struct {
	*project
	config    packages.Config
	patterns  []string
	code      map[string][]byte
	fset      *token.FileSet
	own       []*packages.Package // of the module
	imports   []string            // packages that they import from others
	outside   types.Importer
	typesOnly bool                                  // and the types of the standard library are had compiled
	refers    map[*packages.Package]map[string]bool // the imports to which types of a package refer
	done      map[*packages.Package]*types.Package
	cgo       bool // a package of the module uses it
	problems  Problems
	shapes    []span            // declarations of types
	types     map[Position]bool // of problems in them
}

// span is a part of a file.
type span struct{ from, to token.Pos }

// newCompiler loads packages and all packages of the module that they import, with their tests if these are wanted.
// typesOnly says that types alone shall be checked.
func (p *project) newCompiler(tests, typesOnly bool, patterns ...string) (*compiler, error) {
	c := &compiler{project: p, patterns: patterns, typesOnly: typesOnly, config: packages.Config{
		Context: p.ctx, Dir: p.moduleDir, Env: p.env(), Tests: tests,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule | packages.NeedEmbedFiles,
	}}
	return c, c.load()
}

// load finds the packages of the module, and what they import from others.
func (c *compiler) load() error {
	c.own, c.imports, c.refers = nil, nil, map[*packages.Package]map[string]bool{}
	config := c.config
	pkgs, err := packages.Load(&config, c.patterns...)
	if err != nil {
		return err
	}
	outside := map[string]bool{}
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		own := c.isOwn(pkg)
		if own && !isTestMain(pkg) {
			c.own = append(c.own, pkg)
		}
		if own && isTestMain(pkg) || !own && (!c.typesOnly || isStandard(pkg)) {
			return
		}
		for _, i := range pkg.Imports {
			outside[i.PkgPath] = outside[i.PkgPath] || !c.isOwn(i) && (!c.typesOnly || isStandard(i))
		}
	})
	for path, is := range outside {
		if is {
			c.imports = append(c.imports, path)
		}
	}
	return nil
}

// checkAll checks the packages. Generated code replaces that on disk, unless it is nil.
func (c *compiler) checkAll(code map[string][]byte) (Problems, error) {
	err := c.checkOnce(code)
	if err == nil && c.cgo {
		// Its code is compiled from what cgo makes of it. To ask for that costs more than all the rest.
		c.config.Mode |= packages.NeedCompiledGoFiles
		if err = c.load(); err == nil {
			err = c.checkOnce(code)
		}
	}
	return c.problems, err
}

func (c *compiler) checkOnce(code map[string][]byte) error {
	c.code, c.fset, c.done, c.problems = code, token.NewFileSet(), map[*packages.Package]*types.Package{}, nil
	c.shapes, c.types = nil, map[Position]bool{}
	imports := slices.Clone(c.imports)
	for name, data := range code {
		file, err := parser.ParseFile(c.fset, name, data, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(c.own, func(pkg *packages.Package) bool { return pkg.PkgPath == path }) {
				imports = append(imports, path)
			}
		}
	}
	var err error
	if c.outside, err = c.importer(c.fset, imports); err != nil {
		return err
	}
	for _, pkg := range c.own {
		// The errors are in c.problems. A package with errors is returned as far as it is correct.
		if _, err := c.check(pkg); err != nil {
			return err
		}
	}
	for _, pkg := range c.own {
		for _, x := range c.errorsOf(pkg) {
			c.problems, c.types[x.Position] = append(c.problems, x), true
		}
	}
	return nil
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
	case pkg != nil && i.typesOnly && !i.refers[i.by][path]:
		empty := types.NewPackage(path, pkg.Name)
		empty.MarkComplete()
		return empty, nil
	case pkg == nil:
		return i.outside.Import(path)
	case i.isOwn(pkg):
		return i.check(pkg)
	case i.typesOnly && !isStandard(pkg):
		return i.declarations(pkg)
	}
	return i.outside.Import(pkg.PkgPath)
}

// declarations reads the declarations of a package of another module, once. Its errors are not those of this module.
func (c *compiler) declarations(pkg *packages.Package) (*types.Package, error) {
	if done, ok := c.done[pkg]; ok {
		if done == nil {
			return nil, errors.New("import cycle not allowed")
		}
		return done, nil
	}
	c.done[pkg] = nil
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		// A file that does not parse has what could be read.
		if file, _ := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution); file != nil {
			files = append(files, file)
		}
	}
	c.refer(pkg, files)
	config := c.checking(pkg, func(error) {})
	checked, _ := config.Check(pkg.PkgPath, fset, files, nil)
	c.done[pkg] = checked
	return checked, nil
}

// refer finds the imports to which the types of a package refer.
func (c *compiler) refer(pkg *packages.Package, files []*ast.File) {
	if !c.typesOnly {
		return
	}
	refers := map[string]bool{}
	for _, file := range files {
		names := map[string]bool{".": true}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				ast.Inspect(g, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok {
						names[types.ExprString(s.X)] = true
					}
					return true
				})
			}
		}
		for _, i := range file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil || pkg.Imports[path] == nil {
				continue
			}
			name := pkg.Imports[path].Name
			if i.Name != nil {
				name = i.Name.Name
			}
			refers[path] = refers[path] || names[name]
		}
	}
	c.refers[pkg] = refers
}

// checking returns the configuration of the type checker for a package.
func (c *compiler) checking(pkg *packages.Package, report func(error)) types.Config {
	config := types.Config{
		Importer:    importing{c, pkg},
		Sizes:       types.SizesFor("gc", runtime.GOARCH),
		FakeImportC: true,
		Error:       report,

		IgnoreFuncBodies: c.typesOnly,
	}
	if pkg.Module != nil && pkg.Module.GoVersion != "" {
		config.GoVersion = "go" + pkg.Module.GoVersion
	}
	return config
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
	c.refer(pkg, files)
	config := c.checking(pkg, c.typeError)
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
		inType := slices.ContainsFunc(c.shapes, func(s span) bool { return s.from <= e.Pos && e.Pos < s.to })
		c.add(e.Fset.Position(e.Pos), e.Msg, inType)
	}
}

// add adds a problem. shape says that it may change what is generated from the types.
func (c *compiler) add(at token.Position, message string, shape bool) {
	where := Position{File: c.rel(at.Filename), Line: at.Line, Column: at.Column}
	c.problems = append(c.problems, problemf(where, "", "%s", message))
	c.types[where] = c.types[where] || shape
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
				c.add(e.Pos, e.Msg, true)
			}
		case err != nil:
			return nil, err
		}
		c.cgo = c.cgo || slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` })
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				c.shapes = append(c.shapes, span{g.Pos(), g.End()})
			}
		}
		files = append(files, file)
	}
	return files, nil
}
