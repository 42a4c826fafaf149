package adopt

import (
	"errors"
	"fmt"
	"go/build/constraint"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// findMain returns the file that makes the manager: the given one, that of the program in the given folder, the usual
// one of kubebuilder, or that of the only program.
func (p *Project) findMain(given string) (string, error) {
	if given != "" {
		return p.givenMain(given)
	}
	for _, name := range []string{"cmd/main.go", "main.go"} {
		s, err := p.source(name)
		if err == nil && s.makesManager() {
			return name, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	m, err := p.folders()
	if err != nil {
		return "", err
	}
	found, by := m.makers(func(program string) bool { return !aside(program) })
	if len(found) == 0 { // a library, or programs that are no product
		for _, f := range m {
			found = append(found, f.makers...)
		}
		slices.Sort(found)
		if product := slices.DeleteFunc(slices.Clone(found), func(name string) bool { return aside(path.Dir(name)) }); len(product) > 0 {
			found = product
		}
	}
	switch len(found) {
	case 0:
		return "", p.half("no file calls ctrl.NewManager or manager.New")
	case 1:
		return found[0], nil
	}
	var all []string
	for _, name := range found {
		if program := by[name]; program != "" && program != path.Dir(name) {
			name += " (of the program " + program + ")"
		}
		all = append(all, name)
	}
	return "", fmt.Errorf("%s: %d files make a manager: %s; name one by --main", p.Dir, len(found), strings.Join(all, ", "))
}

// givenMain returns the file of --main.
func (p *Project) givenMain(given string) (string, error) {
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
	info, err := os.Stat(filepath.Join(p.Dir, filepath.FromSlash(name)))
	if err != nil {
		return "", fmt.Errorf("--main: %w", err)
	}
	if !info.IsDir() {
		return name, nil
	}
	m, err := p.folders()
	if err != nil {
		return "", err
	}
	switch found, _ := m.makers(func(program string) bool { return program == name }); len(found) {
	case 0:
		return "", fmt.Errorf("--main %s: no program there, or none that makes a manager: no file that it is built of calls ctrl.NewManager or manager.New", given)
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("--main %s: %d files of this program make a manager: %s; name one", given, len(found), strings.Join(found, ", "))
	}
}

// aside reports whether a folder has programs that are no product: tests, examples and tools.
func aside(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(folder string) bool {
		return slices.Contains([]string{"test", "tests", "e2e", "example", "examples", "hack", "tools"}, folder)
	})
}

// folder is a package of the module.
type folder struct {
	program bool
	makers  []string // files that make a manager
	imports []string // folders of the module
}

// folders are the packages of a module, by their folders.
type folders map[string]*folder

// folders reads the files that make managers, and the imports within the module. Tests and ignored files are left out.
func (p *Project) folders() (folders, error) {
	all, module := folders{}, p.Mod.Module.Mod.Path
	err := p.goFiles(func(name string) error {
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		s, err := p.source(name)
		if err != nil || s.ignored() {
			return err
		}
		dir := path.Dir(name)
		f := all[dir]
		if f == nil {
			f = &folder{}
			all[dir] = f
		}
		f.program = f.program || s.file.Name.Name == "main"
		if s.makesManager() {
			f.makers = append(f.makers, name)
		}
		for _, i := range s.file.Imports {
			if to := importPath(i); to == module {
				f.imports = append(f.imports, ".")
			} else if to, ok := strings.CutPrefix(to, module+"/"); ok {
				f.imports = append(f.imports, to)
			}
		}
		return nil
	})
	return all, err
}

// makers returns the files by which programs make managers, sorted, and a program of each: files of the program's folder,
// or else of what it imports. wanted chooses programs by their folders.
func (m folders) makers(wanted func(program string) bool) (found []string, by map[string]string) {
	by = map[string]string{}
	for _, program := range slices.Sorted(maps.Keys(m)) {
		if !m[program].program || !wanted(program) {
			continue
		}
		seen := map[string]bool{}
		for queue := []string{program}; len(queue) > 0; queue = queue[1:] {
			f := m[queue[0]]
			if f == nil || seen[queue[0]] {
				continue
			}
			seen[queue[0]] = true
			for _, name := range f.makers {
				if by[name] == "" {
					by[name] = program
				}
			}
			if queue[0] == program && len(f.makers) > 0 {
				break // what it imports may make managers for other work
			}
			queue = append(queue, f.imports...)
		}
	}
	return slices.Sorted(maps.Keys(by)), by
}

// source parses a file of the project.
func (p *Project) source(name string) (*source, error) {
	file := filepath.Join(p.Dir, filepath.FromSlash(name))
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseSource(file, text)
}

// makesManager reports whether the file calls the constructor of a manager.
func (s *source) makesManager() bool {
	_, _, err := s.manager()
	return !errors.As(err, new(*NoManagerError))
}

// ignored reports whether no build has the file.
func (s *source) ignored() bool {
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if c.Pos() > s.file.Package {
				return false
			}
			if x, err := constraint.Parse(c.Text); err == nil && !x.Eval(func(tag string) bool { return tag != "ignore" }) {
				return true
			}
		}
	}
	return false
}
