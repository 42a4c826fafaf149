package generate

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// importer returns the types of packages of other modules, by the export data in the go command's cache. The
// go command is asked for those that it has not been asked for.
func (p *project) importer(fset *token.FileSet, paths []string) (types.Importer, error) {
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == "unsafe" || p.exports[path] != nil })
	slices.Sort(paths)
	if paths = slices.Compact(paths); len(paths) > 0 {
		found, err := packages.Load(&packages.Config{
			Context: p.ctx, Dir: p.moduleDir, Env: p.env(), Mode: packages.NeedName | packages.NeedExportFile,
		}, paths...)
		if err != nil {
			return nil, err
		}
		if p.exports == nil {
			p.exports = map[string]*packages.Package{}
		}
		for _, pkg := range found {
			p.exports[pkg.PkgPath] = pkg
		}
	}
	return importer.ForCompiler(fset, "gc", p.exported), nil
}

// exported opens the export data of a package.
func (p *project) exported(path string) (io.ReadCloser, error) {
	pkg := p.exports[path]
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

// standard gives packages of the standard library their types by export data. Otherwise the generators check them from
// source, the runtime included, as soon as a type refers to one of them: that would be most of the code that they read.
// The types are the same. Only a definition that has a type of the standard library needs its source: see lacking.
// Others are more packages that will be imported.
func (p *project) standard(others []string) error {
	found, paths := p.imported(), others
	for _, pkg := range found {
		paths = append(paths, pkg.PkgPath)
	}
	exported, err := p.importer(p.fset, paths)
	if err != nil {
		return err
	}
	known := map[*loader.Package]*types.Package{}
	for _, pkg := range found {
		if known[pkg], err = exported.Import(pkg.PkgPath); err != nil {
			return nil // they have their source
		}
	}
	for pkg, known := range known {
		pkg.Types, pkg.TypesInfo, pkg.Syntax = known, &types.Info{}, []*ast.File{}
	}
	p.std = found
	return nil
}

// isStandard reports whether a package is of the standard library.
func isStandard(pkg *packages.Package) bool {
	first, _, _ := strings.Cut(pkg.PkgPath, "/")
	return pkg.Module == nil && !strings.Contains(first, ".")
}

// imported returns the packages of the standard library that others import, from those with kinds or generated code on.
func (p *project) imported() (out []*loader.Package) {
	seen := map[*loader.Package]bool{}
	var visit func(pkg *loader.Package)
	visit = func(pkg *loader.Package) {
		if seen[pkg] || pkg.PkgPath == "unsafe" {
			return
		}
		seen[pkg] = true
		if isStandard(pkg.Package) {
			out = append(out, pkg)
			return
		}
		for _, i := range pkg.Imports() {
			visit(i)
		}
	}
	for _, r := range p.marked(append(slices.Clone(copyMarkers), groupMarker)...) {
		visit(r)
	}
	return out
}

// lacking reports whether a generator needs source that was left out: that of a package that has its types by export
// data, which then has an error that no other package has; or what cgo makes of a package whose types were checked.
func (p *project) lacking() bool {
	if p.source {
		return false
	}
	seen := map[*loader.Package]bool{}
	var lacks func(pkg *loader.Package) bool
	lacks = func(pkg *loader.Package) bool {
		if seen[pkg] || pkg.TypesInfo == nil {
			return false
		}
		seen[pkg] = true
		if slices.Contains(p.std, pkg) {
			return len(pkg.Errors) > 0
		}
		for _, file := range pkg.Syntax {
			if slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` }) {
				return true
			}
		}
		for _, i := range pkg.Imports() {
			if lacks(i) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(p.roots, lacks)
}
