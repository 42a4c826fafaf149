// Package adopt brings operators of controller-runtime to Flyball, those of kubebuilder and others: the
// packed cache by one line, and a plan of what a move to Flyball's API means.
//
//	go.mod, main.go, PROJECT ──► Project ──► Cache: a copy of the project (package scaffold)
//	                                │            │ build, vet, test as it is
//	                                │            │ one line, go.mod; build, vet, test again
//	                                │            ▼
//	                                │         commit: the changed files, or none
//	                                └──────► Plan: packages, with types ──► what each controller is there
package adopt

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/modfile"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
)

// Project is an operator: a project of kubebuilder, or another Go module of controller-runtime.
type Project struct {
	// Dir is its folder.
	Dir string `yaml:"-"`
	// Main is the file that makes the manager, relative to Dir and with slashes.
	Main string `yaml:"-"`
	// Mod is its go.mod.
	Mod *modfile.File `yaml:"-"`
	// Plain says that no file PROJECT describes it: there are no layouts and resources.
	Plain bool `yaml:"-"`

	Layouts    layouts    `yaml:"layout"`
	Version    string     `yaml:"version"`
	Name       string     `yaml:"projectName"`
	Domain     string     `yaml:"domain"`
	MultiGroup bool       `yaml:"multigroup"`
	Resources  []Resource `yaml:"resources"`
}

// Resource is a kind that the project has, or has a controller or webhook for.
type Resource struct {
	Group      string    `yaml:"group"`
	Domain     string    `yaml:"domain"`
	Version    string    `yaml:"version"`
	Kind       string    `yaml:"kind"`
	Plural     string    `yaml:"plural"`
	Path       string    `yaml:"path"`
	Controller bool      `yaml:"controller"`
	Webhooks   *Webhooks `yaml:"webhooks"`
}

// Webhooks are those of a kind.
type Webhooks struct {
	Defaulting bool `yaml:"defaulting"`
	Validation bool `yaml:"validation"`
	Conversion bool `yaml:"conversion"`
}

// FullGroup returns the API group of a resource.
func (r *Resource) FullGroup() string { return strings.Trim(r.Group+"."+r.Domain, ".") }

// plural returns the name of the resource.
func (r *Resource) plural() string {
	if r.Plural != "" {
		return r.Plural
	}
	guess, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: r.Kind})
	return guess.Resource
}

// layouts are the plugins that made a project. Early projects name one as a text.
type layouts []string

func (l *layouts) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = layouts{n.Value}
		return nil
	}
	return n.Decode((*[]string)(l))
}

// String describes what made the project.
func (p *Project) String() string {
	if p.Plain {
		return "a Go module without a file " + scaffold.ProjectFile
	}
	what := "no layout"
	if len(p.Layouts) > 0 {
		what = "layout " + strings.Join(p.Layouts, ", ")
	}
	if p.MultiGroup {
		what += ", multi-group"
	}
	return "kubebuilder, " + what
}

// NoOperatorError says that a folder is in no operator of controller-runtime, or in half of one.
type NoOperatorError struct {
	// Dir is the folder, and Problem what was found or is missing.
	Dir, Problem string
}

func (e *NoOperatorError) Error() string { return fmt.Sprintf("%s: %s", e.Dir, e.Problem) }

// Load finds the operator that contains dir: a project of kubebuilder, or else the Go module. main names the
// file that makes the manager, or the folder of a program. Empty means cmd/main.go, main.go, or the only file by which a
// program of the module does.
func Load(dir, main string) (*Project, error) {
	root, err := scaffold.Find(dir)
	if errors.As(err, new(*scaffold.NoProjectError)) {
		return loadModule(dir, main)
	}
	if err != nil {
		return nil, err
	}
	p := &Project{Dir: root}
	_, err = scaffold.Load(root)
	if _, ok := errors.AsType[*scaffold.ForeignError](err); !ok {
		problem := "the file " + scaffold.ProjectFile + " is neither kubebuilder's nor Flyball's"
		if err == nil {
			problem = "this project is Flyball's already: its manager has the packed cache"
		}
		return nil, &NoOperatorError{root, problem}
	}
	if err := p.read(); err != nil {
		return nil, err
	}
	if len(p.Layouts) > 0 && !slices.ContainsFunc(p.Layouts, isGo) {
		return nil, &NoOperatorError{root, fmt.Sprintf("the project is no Go program: its layout is %s", strings.Join(p.Layouts, ", "))}
	}
	return p, p.readModule(main)
}

// loadModule loads an operator that no file PROJECT describes.
func loadModule(dir, main string) (*Project, error) {
	root, err := scaffold.FindFile(dir, "go.mod")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NoOperatorError{dir, "no operator: there is neither a file " + scaffold.ProjectFile + " nor a go.mod, nor in a folder above"}
	}
	if err != nil {
		return nil, err
	}
	p := &Project{Dir: root, Plain: true}
	return p, p.readModule(main)
}

// half returns the error for a project that lacks something.
func (p *Project) half(problem string) error {
	what := "half a project of kubebuilder: "
	if p.Plain {
		what = "no operator of controller-runtime: "
	}
	return &NoOperatorError{p.Dir, what + problem}
}

// readModule reads go.mod and finds the file that makes the manager.
func (p *Project) readModule(main string) error {
	mod := filepath.Join(p.Dir, "go.mod")
	data, err := os.ReadFile(mod)
	if errors.Is(err, fs.ErrNotExist) {
		return p.half("there is a file " + scaffold.ProjectFile + " and no go.mod")
	}
	if err != nil {
		return err
	}
	if p.Mod, err = modfile.Parse(mod, data, nil); err != nil {
		return err
	}
	if p.Mod.Module == nil {
		return p.half("go.mod names no module")
	}
	if scaffold.Required(p.Mod, ctrlPath) == "" {
		return p.half("go.mod does not require " + ctrlPath)
	}
	p.Main, err = p.findMain(main)
	return err
}

// Controlled returns the kinds of the project in dir that have a controller, as plural.group. Kinds of others,
// such as Deployment, are left out.
func Controlled(dir string) ([]string, error) {
	p := &Project{Dir: dir}
	if err := p.read(); err != nil {
		return nil, err
	}
	var all []string
	for _, r := range p.Resources {
		if r.Controller && r.Domain != "" {
			all = append(all, r.plural()+"."+r.FullGroup())
		}
	}
	return all, nil
}

// read reads the file PROJECT.
func (p *Project) read() error {
	file := filepath.Join(p.Dir, scaffold.ProjectFile)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(data, p); err != nil {
		return fmt.Errorf("%s: %s", file, strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", ""), "yaml: "))
	}
	return nil
}

// isGo reports whether a plugin makes Go programs.
func isGo(layout string) bool {
	return strings.HasPrefix(layout, "go.") || strings.HasPrefix(layout, "base.go.")
}

// goFiles calls do with each Go file of the module, by its name with slashes.
func (p *Project) goFiles(do func(name string) error) error {
	return filepath.WalkDir(p.Dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && file != p.Dir {
			_, nested := os.Stat(filepath.Join(file, "go.mod"))
			if nested == nil || name == "vendor" || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return fs.SkipDir
			}
		}
		if d.Type().IsRegular() && strings.HasSuffix(name, ".go") {
			rel, err := filepath.Rel(p.Dir, file)
			if err != nil {
				return err
			}
			return do(filepath.ToSlash(rel))
		}
		return nil
	})
}

// mainText returns the content of the main file.
func (p *Project) mainText() ([]byte, error) {
	return os.ReadFile(filepath.Join(p.Dir, filepath.FromSlash(p.Main)))
}

// taken returns the names that the other files of main's package declare.
func (p *Project) taken() (map[string]bool, error) {
	out := map[string]bool{}
	dir := path.Dir(p.Main)
	err := p.goFiles(func(name string) error {
		if path.Dir(name) != dir || name == p.Main {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, filepath.FromSlash(name)), nil, 0)
		if err != nil {
			return err
		}
		for declared := range f.Scope.Objects {
			out[declared] = true
		}
		return nil
	})
	return out, err
}

// newInformers returns an *InformerError if the program has a NewInformer.
func (p *Project) newInformers() error {
	e := &InformerError{}
	err := p.goFiles(func(name string) error {
		text, err := os.ReadFile(filepath.Join(p.Dir, filepath.FromSlash(name)))
		if err != nil || strings.HasSuffix(name, "_test.go") || !bytes.Contains(text, []byte("NewInformer")) || !bytes.Contains(text, []byte(ctrlPath)) {
			return err
		}
		s, err := parseSource(name, text)
		if err == nil {
			e.At = append(e.At, s.newInformer()...)
		}
		return err
	})
	if err == nil && len(e.At) > 0 {
		err = e
	}
	return err
}

// imports returns the files whose imports have an element that match accepts, by name.
func (p *Project) imports(match func(file, path string) bool) (files []string, err error) {
	err = p.goFiles(func(name string) error {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, filepath.FromSlash(name)), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return match(name, importPath(i)) }) {
			files = append(files, name)
		}
		return nil
	})
	return files, err
}
