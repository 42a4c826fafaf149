package scaffold

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/mod/module"
)

// stage is a copy of a project in the folder for temporary files. A step works on the copy, and the
// project changes only after the whole step has succeeded: a step that fails leaves no trace. The
// parent folder of the project is neither read nor written. The project may be a mount, or contain
// mounts.
type stage struct {
	dir     string // of the copy
	project string // the destination, without links
	made    []string
	before  map[string][]byte
	links   links
	local   map[module.Version]string // relative paths of replaced modules, as the project has them
}

// newStage copies the project, except hidden and built files. It creates a missing folder, so that
// a folder that cannot be written is detected before the work. drop removes the folder again if it
// is still empty.
func newStage(project string) (_ *stage, err error) {
	s := &stage{}
	if project, err = filepath.Abs(project); err != nil {
		return nil, err
	}
	if s.made, err = mkdirs(project); err == nil {
		s.project, err = filepath.EvalSymlinks(project)
	}
	if err == nil {
		err = writable(s.project)
	}
	if err == nil {
		s.before, s.links, err = readTree(s.project)
	}
	if err == nil {
		if s.dir, err = copyDir(s.project); err == nil {
			// The go command prints folders without links.
			s.dir, err = filepath.EvalSymlinks(s.dir)
		}
	}
	if err == nil {
		err = s.copy()
	}
	if err != nil {
		s.drop()
		return nil, err
	}
	return s, nil
}

// copyDir makes the folder for a copy. The copies of one project have the same name, if no other is there: what the go
// command has built of one is then in its cache for the next.
func copyDir(project string) (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("%s%x", copyPrefix, sha256.Sum256([]byte(project)))[:len(copyPrefix)+16])
	if err := os.Mkdir(dir, 0o700); err == nil {
		return dir, nil
	}
	return os.MkdirTemp("", copyPrefix)
}

// copyPrefix begins the names of copies.
const copyPrefix = "flyball-project-"

// writable reports whether files can be made in a folder.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".flyball-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// copy fills the copy with the files, and with links to the files beside the project.
func (s *stage) copy() error {
	for name, data := range s.before {
		if err := s.write(name, data); err != nil {
			return err
		}
	}
	return s.links.copy(s.dir)
}

// drop removes the copy. It must be called in any case.
func (s *stage) drop() {
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
	for _, dir := range slices.Backward(s.made) {
		_ = os.Remove(dir) // if nothing is in it
	}
}

// had returns a file of the project as it was before the step.
func (s *stage) had(name string) (data []byte, ok bool) {
	real, err := s.links.real(name)
	if err != nil {
		return nil, false
	}
	data, ok = s.before[real]
	return data, ok
}

// write writes a file into the copy. The name has slashes and is relative. The error is a
// *LinkError if it leads out of the project.
func (s *stage) write(name string, data []byte) error {
	real, err := s.links.real(name)
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, filepath.FromSlash(real))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o666)
}

// remove removes a file from the copy. It need not exist.
func (s *stage) remove(name string) error {
	real, err := s.links.real(name)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(s.dir, filepath.FromSlash(real))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// commit copies the changed files to the project and returns their names, sorted. If that fails
// halfway, it reverts its changes.
func (s *stage) commit() (changed []string, err error) {
	all, err := s.changes()
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		changed = append(changed, c.Name)
	}
	return changed, s.put(all)
}

// Change is a file of a project that differs in the copy.
type Change struct {
	// Name is relative to the project and has slashes.
	Name string
	// Before is the content in the project, and After that in the copy. Nil means that there is no such file.
	Before, After []byte
}

// Diff returns the change as a unified diff.
func (c Change) Diff() []byte { return diff.Diff("a/"+c.Name, c.Before, "b/"+c.Name, c.After) }

// changes returns the files that differ, by name.
func (s *stage) changes() (all []Change, err error) {
	after, _, err := readTree(s.dir)
	if err != nil {
		return nil, err
	}
	s.relative(after)
	for name, data := range after {
		if old, ok := s.before[name]; !ok || !bytes.Equal(old, data) {
			all = append(all, Change{name, old, data})
		}
	}
	for name, old := range s.before {
		if _, ok := after[name]; !ok {
			all = append(all, Change{Name: name, Before: old})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// put writes changes into the project. If that fails halfway, it reverts them.
func (s *stage) put(all []Change) (err error) {
	for _, c := range all {
		if _, err := s.links.real(c.Name); err != nil {
			return err
		}
	}
	if err := s.unchanged(all); err != nil {
		return err
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
	for _, c := range all {
		target := filepath.Join(s.project, filepath.FromSlash(c.Name))
		if c.Before != nil {
			undo = append(undo, func() error { return replace(target, c.Before) })
		} else {
			made, err := mkdirs(filepath.Dir(target))
			undo = append(undo, func() error { return removeAll(append(made, target)) })
			if err != nil {
				return err
			}
		}
		if c.After != nil {
			err = replace(target, c.After)
		} else {
			err = os.Remove(target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removed returns those files that are no longer in the project, and removes their folders as far as
// they are empty.
func (s *stage) removed(files []string) (gone []string) {
	for _, name := range files {
		if _, err := os.Lstat(filepath.Join(s.project, filepath.FromSlash(name))); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, name)
			s.prune(path.Dir(name))
		}
	}
	return gone
}

// prune removes a folder of the project and its parents, as far as they are empty.
func (s *stage) prune(dir string) {
	for dir != "." && os.Remove(filepath.Join(s.project, filepath.FromSlash(dir))) == nil {
		dir = path.Dir(dir)
	}
}

// unchanged checks that the files to be replaced have not changed meanwhile.
func (s *stage) unchanged(all []Change) error {
	for _, c := range all {
		now, err := os.ReadFile(filepath.Join(s.project, filepath.FromSlash(c.Name)))
		if had := c.Before != nil; had != (err == nil) || had && !bytes.Equal(c.Before, now) {
			return fmt.Errorf("%s was changed by somebody else meanwhile: nothing was written, try again", c.Name)
		}
	}
	return nil
}

// replace writes a file atomically: first beside it, and so on the same file system. An existing
// file keeps its permissions.
func replace(file string, data []byte) (err error) {
	mode := fs.FileMode(0o666) // less the user's umask
	info, err := os.Stat(file)
	if err == nil {
		mode = info.Mode().Perm()
	}
	beside := filepath.Join(filepath.Dir(file), fmt.Sprintf(".flyball-%d-%s", os.Getpid(), filepath.Base(file)))
	defer func() {
		if err != nil {
			_ = os.Remove(beside)
		}
	}()
	if err := os.WriteFile(beside, data, mode); err != nil {
		return err
	}
	if info != nil {
		if err := os.Chmod(beside, mode); err != nil {
			return err
		}
	}
	return os.Rename(beside, file)
}

// mkdirs makes a folder and its parents, and returns the new ones.
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

// readTree reads the regular files below dir, by their names with slashes, and the links. It skips
// hidden folders but .github, bin and nested modules. A missing folder counts as empty.
func readTree(dir string) (map[string][]byte, links, error) {
	out, folders, found := map[string][]byte{}, map[string]bool{}, []string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == dir {
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		switch {
		case d.IsDir():
			_, err := os.Stat(filepath.Join(file, "go.mod"))
			if file != dir && (err == nil || strings.HasPrefix(d.Name(), ".") && name != ".github" || name == "bin") {
				return fs.SkipDir
			}
			folders[name] = true
		case d.Type()&fs.ModeSymlink != 0:
			found = append(found, name)
		case d.Type().IsRegular():
			out[name], err = os.ReadFile(file)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	known := func(name string) bool {
		_, ok := out[name]
		return ok || folders[name]
	}
	all := links{}
	for _, name := range found {
		if path.Base(name)[0] != '.' && name != "bin" {
			all[name] = readLink(dir, name, known)
		}
	}
	return out, all, nil
}
