// Package adopt brings projects of kubebuilder to Flyball: the packed cache by one line, and a plan of
// what a move to Flyball's API means.
//
//	PROJECT, go.mod, main.go ──► Project ──► Cache: a copy of the project (package scaffold)
//	                                │            │ build, vet, test as it is
//	                                │            │ one line, go.mod; build, vet, test again
//	                                │            ▼
//	                                │         commit: the changed files, or none
//	                                └──────► Plan: packages, with types ──► what each controller is there
package adopt

import (
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

// Project is a project of kubebuilder.
type Project struct {
	// Dir is its folder.
	Dir string `yaml:"-"`
	// Main is the file that makes the manager, relative to Dir and with slashes.
	Main string `yaml:"-"`
	// Mod is its go.mod.
	Mod *modfile.File `yaml:"-"`

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
	what := "no layout"
	if len(p.Layouts) > 0 {
		what = "layout " + strings.Join(p.Layouts, ", ")
	}
	if p.MultiGroup {
		what += ", multi-group"
	}
	return "kubebuilder, " + what
}

// NotKubebuilderError says that a folder is in no project of kubebuilder, or in half of one.
type NotKubebuilderError struct {
	// Dir is the folder, and Problem what was found or is missing.
	Dir, Problem string
}

func (e *NotKubebuilderError) Error() string { return fmt.Sprintf("%s: %s", e.Dir, e.Problem) }

// byHand is what to do in a program that no file PROJECT describes.
const byHand = "in another program of controller-runtime the packed cache is one line by hand: NewCache: ctrlcache.New in the options of the manager, with " + cachePath

// Load finds the project that contains dir. main names the file that makes the manager. Empty means
// main.go, cmd/main.go, or the only file that does.
func Load(dir, main string) (*Project, error) {
	root, err := scaffold.Find(dir)
	if errors.As(err, new(*scaffold.NoProjectError)) {
		return nil, &NotKubebuilderError{dir, "no project of kubebuilder: there is no file " + scaffold.ProjectFile + ", nor in a folder above; " + byHand}
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
		return nil, &NotKubebuilderError{root, problem}
	}
	if err := p.read(); err != nil {
		return nil, err
	}
	if len(p.Layouts) > 0 && !slices.ContainsFunc(p.Layouts, isGo) {
		return nil, &NotKubebuilderError{root, fmt.Sprintf("the project is no Go program: its layout is %s", strings.Join(p.Layouts, ", "))}
	}
	mod := filepath.Join(root, "go.mod")
	data, err := os.ReadFile(mod)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotKubebuilderError{root, "half a project of kubebuilder: there is a file " + scaffold.ProjectFile + " and no go.mod"}
	}
	if err != nil {
		return nil, err
	}
	if p.Mod, err = modfile.Parse(mod, data, nil); err != nil {
		return nil, err
	}
	if p.Mod.Module == nil {
		return nil, &NotKubebuilderError{root, "half a project of kubebuilder: go.mod names no module"}
	}
	if version(p.Mod, ctrlPath) == "" {
		return nil, &NotKubebuilderError{root, "half a project of kubebuilder: go.mod does not require " + ctrlPath}
	}
	p.Main, err = p.findMain(main)
	return p, err
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

// version returns what a go.mod requires of a module, or "".
func version(mod *modfile.File, module string) string {
	for _, r := range mod.Require {
		if r.Mod.Path == module {
			return r.Mod.Version
		}
	}
	return ""
}

// findMain returns the file that makes the manager.
func (p *Project) findMain(given string) (string, error) {
	if given != "" {
		name := filepath.ToSlash(filepath.Clean(given))
		if filepath.IsAbs(given) {
			rel, err := filepath.Rel(p.Dir, given)
			if err != nil {
				return "", err
			}
			name = filepath.ToSlash(rel)
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return "", fmt.Errorf("--main %s: is not in the project %s", given, p.Dir)
		}
		if _, err := os.Stat(filepath.Join(p.Dir, filepath.FromSlash(name))); err != nil {
			return "", fmt.Errorf("--main: %w", err)
		}
		return name, nil
	}
	for _, name := range []string{"cmd/main.go", "main.go"} {
		if ok, err := makesManager(filepath.Join(p.Dir, filepath.FromSlash(name))); err != nil || ok {
			return name, err
		}
	}
	var found []string
	err := p.goFiles(func(name string) error {
		ok, err := makesManager(filepath.Join(p.Dir, filepath.FromSlash(name)))
		if ok && !strings.HasSuffix(name, "_test.go") {
			found = append(found, name)
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", &NotKubebuilderError{p.Dir, "half a project of kubebuilder: no file calls ctrl.NewManager or manager.New, neither main.go (layout v3) nor cmd/main.go (layout v4) nor any other one"}
	case len(found) > 1:
		return "", fmt.Errorf("%s: %d files make a manager: %s; name one by --main", p.Dir, len(found), strings.Join(found, ", "))
	}
	return found[0], nil
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

// makesManager reports whether a Go file calls the constructor of a manager. A missing file does not.
func makesManager(file string) (bool, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s, err := parseSource(file, text)
	if err != nil {
		return false, err
	}
	_, _, err = s.manager()
	return !errors.As(err, new(*NoManagerError)), nil
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
