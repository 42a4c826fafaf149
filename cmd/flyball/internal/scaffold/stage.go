package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stage is a copy of a project beside it, in which a step is made as a whole before anything of it
// is put into the project: a step that fails leaves no trace.
type stage struct {
	dir     string // of the copy
	project string // where it goes
	before  map[string][]byte
}

// newStage copies the project, except what is hidden or built.
func newStage(project string) (_ *stage, err error) {
	project, err = filepath.Abs(project)
	if err != nil {
		return nil, err
	}
	s := &stage{project: project, before: map[string][]byte{}}
	if s.before, err = readTree(project); err != nil {
		return nil, err
	}
	parent := filepath.Dir(project)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(parent, "."+filepath.Base(project)+"-flyball-"); err != nil {
		return nil, err
	}
	for name, data := range s.before {
		if err := s.write(name, data); err != nil {
			s.drop()
			return nil, err
		}
	}
	return s, nil
}

// drop removes the copy. It is to be called in any case.
func (s *stage) drop() { _ = os.RemoveAll(s.dir) }

// write puts a file into the copy. The name has slashes and is relative.
func (s *stage) write(name string, data []byte) error {
	file := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o666)
}

// commit puts what changed into the project and returns the names of the files, sorted. Where that
// fails halfway, what it did is undone.
func (s *stage) commit() (changed []string, err error) {
	after, err := readTree(s.dir)
	if err != nil {
		return nil, err
	}
	for name, data := range after {
		if old, ok := s.before[name]; !ok || !bytes.Equal(old, data) {
			changed = append(changed, name)
		}
	}
	for name := range s.before {
		if _, ok := after[name]; !ok {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	if err := s.unchanged(changed); err != nil {
		return nil, err
	}
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for _, f := range slices.Backward(undo) {
			err = errors.Join(err, f())
		}
	}()
	for _, name := range changed {
		target := filepath.Join(s.project, filepath.FromSlash(name))
		if old, ok := s.before[name]; ok {
			undo = append(undo, func() error { return os.WriteFile(target, old, 0o666) })
		} else {
			made, err := mkdirs(filepath.Dir(target))
			undo = append(undo, func() error { return removeAll(append(made, target)) })
			if err != nil {
				return nil, err
			}
		}
		if _, ok := after[name]; !ok {
			err = os.Remove(target)
		} else {
			err = os.Rename(filepath.Join(s.dir, filepath.FromSlash(name)), target)
		}
		if err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// unchanged checks that nobody has touched meanwhile what is to be replaced.
func (s *stage) unchanged(names []string) error {
	for _, name := range names {
		now, err := os.ReadFile(filepath.Join(s.project, filepath.FromSlash(name)))
		old, had := s.before[name]
		if had != (err == nil) || had && !bytes.Equal(old, now) {
			return fmt.Errorf("%s was changed by somebody else meanwhile: nothing was written, try again", name)
		}
	}
	return nil
}

// mkdirs makes a folder and those that it is in, and returns the ones that were not there.
func mkdirs(dir string) (made []string, err error) {
	if _, err := os.Stat(dir); err == nil {
		return nil, nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if made, err = mkdirs(parent); err != nil {
			return made, err
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return made, err
	}
	return append(made, dir), nil
}

// removeAll removes files and then empty folders, the last first.
func removeAll(names []string) error {
	var all error
	for _, name := range slices.Backward(names) {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// readTree reads the regular files below dir, by their names with slashes, except those in hidden
// folders, in bin and in nested modules. No folder is an empty one.
func readTree(dir string) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == dir {
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		if d.IsDir() && file != dir {
			_, err := os.Stat(filepath.Join(file, "go.mod"))
			if err == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" && filepath.Dir(file) == dir {
				return fs.SkipDir
			}
		}
		if !d.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		out[filepath.ToSlash(rel)], err = os.ReadFile(file)
		return err
	})
	return out, err
}
