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

// A File is one that is to be written.
type File struct {
	Path string // relative to the plan's root where it lies inside
	Data []byte
}

// A Plan is what there is to do, so that the files are as the code says.
type Plan struct {
	Root      string   // an absolute folder
	Write     []File   // new, or with other content than on disk
	Unchanged []string // right already
	Remove    []string // made earlier by us for something that is gone
	Warnings  []Problem
}

// UpToDate reports whether there is nothing to do.
func (p *Plan) UpToDate() bool { return len(p.Write)+len(p.Remove) == 0 }

// Paths are the files that are to be written or removed.
func (p *Plan) Paths() []string {
	paths := slices.Clone(p.Remove)
	for _, f := range p.Write {
		paths = append(paths, f.Path)
	}
	return paths
}

// add takes up a file, by its absolute path.
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

// removeOurs removes a YAML file if it was made here.
func (p *Plan) removeOurs(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if bytes.HasPrefix(data, []byte(yamlMark)) {
		p.removeAll([]string{path})
	}
	return nil
}

// removeStale removes all YAML files of a folder that were made here and are not kept.
func (p *Plan) removeStale(dir string, keep map[string][]byte) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if _, kept := keep[path]; kept || e.IsDir() || filepath.Ext(path) != ".yaml" {
			continue
		}
		if err := p.removeOurs(path); err != nil {
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

// abs is the absolute form of a path of the plan.
func (p *Plan) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Root, filepath.FromSlash(path))
}

// target is the file that a path of the plan leads to.
func (p *Plan) target(path string) string {
	abs := p.abs(path)
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}

// Apply writes and removes. All contents are on disk under other names before the first file
// changes; each file is replaced as a whole, one behind a symbolic link where the link leads. On an error, what was not yet replaced stays as it
// was, and no other file is left behind.
func (p *Plan) Apply() (err error) {
	temporary := make([]string, 0, len(p.Write))
	defer func() {
		for _, t := range temporary {
			_ = os.Remove(t) // those that were renamed are no longer there
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

// stage writes a new file beside path, with the permissions of the one that it will replace.
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
