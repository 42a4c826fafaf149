package generate

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

// File is a file to be written.
type File struct {
	Path string // relative to the plan's root if it is inside
	Data []byte
}

// Plan lists the changes that make the files match the code.
type Plan struct {
	Root      string   // an absolute folder
	Write     []File   // new, or different from the file on disk
	Unchanged []string // with the right content
	Remove    []string // generated earlier, from a source that is gone
	Warnings  []Problem
	Compiles  bool // all packages of the module were checked with what is planned, also their tests
}

// UpToDate reports whether there is nothing to do.
func (p *Plan) UpToDate() bool { return len(p.Write)+len(p.Remove) == 0 }

// Paths returns the files to be written or removed.
func (p *Plan) Paths() []string {
	paths := slices.Clone(p.Remove)
	for _, f := range p.Write {
		paths = append(paths, f.Path)
	}
	return paths
}

// add adds a file, by its absolute path.
func (p *Plan) add(path string, data []byte) error {
	rel := relative(p.Root, path)
	old, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(old, data):
		p.Unchanged = append(p.Unchanged, rel)
	case err == nil || errors.Is(err, fs.ErrNotExist):
		p.Write = append(p.Write, File{Path: rel, Data: data})
	default:
		return err
	}
	return nil
}

func (p *Plan) removeAll(paths []string) {
	for _, path := range paths {
		p.Remove = append(p.Remove, relative(p.Root, path))
	}
}

// removeOurs removes a YAML file if its first line is mark.
func (p *Plan) removeOurs(path, mark string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if bytes.HasPrefix(data, []byte(mark)) {
		p.removeAll([]string{path})
	}
	return nil
}

// removeStale removes all YAML files of a folder that begin with mark and are not in keep.
func (p *Plan) removeStale(dir string, keep map[string][]byte, mark string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if _, kept := keep[path]; kept || e.IsDir() || filepath.Ext(path) != ".yaml" {
			continue
		}
		if err := p.removeOurs(path, mark); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) sort() {
	slices.SortFunc(p.Write, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(p.Unchanged)
	slices.Sort(p.Remove)
}

// abs returns the absolute form of a path of the plan.
func (p *Plan) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Root, filepath.FromSlash(path))
}

// target returns the file that a path of the plan leads to.
func (p *Plan) target(path string) string {
	abs := p.abs(path)
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}

// Apply writes and removes the files. All contents are on disk under temporary names before the
// first file changes. Each file is replaced atomically; for a symbolic link its target is replaced.
// After an error, the files that were not yet replaced are unchanged, and no temporary file is
// left.
func (p *Plan) Apply() (err error) {
	temporary := make([]string, 0, len(p.Write))
	defer func() {
		for _, t := range temporary {
			_ = os.Remove(t) // renamed files are no longer there
		}
	}()
	for _, f := range p.Write {
		t, err := stage(p.target(f.Path), f.Data)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		temporary = append(temporary, t)
	}
	for i, f := range p.Write {
		if err := os.Rename(temporary[i], p.target(f.Path)); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	for _, path := range p.Remove {
		if err := os.Remove(p.abs(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// stage writes a new file beside path, with the permissions of the file that it will replace.
func stage(path string, data []byte) (name string, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return "", errors.New("is a folder")
		}
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".flyball-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
