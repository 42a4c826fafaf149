package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// links are the symbolic links of a project, by their names with slashes.
type links map[string]link

// link is the target of a symbolic link, after all links on the way.
type link struct {
	to     string // with slashes and relative if inside, absolute if not, "" if nothing is there
	inside bool   // the target is a file or folder of the project that is copied
}

// LinkError says that a file of a step is behind a link that leads out of the project. Nothing was
// written.
type LinkError struct {
	// File is the file in the project, and Link the link on the way to it.
	File, Link string
	// To is the target of the link. It is empty if nothing is there.
	To string
}

func (e *LinkError) Error() string {
	to := e.To
	if to == "" {
		to = "nowhere"
	}
	return fmt.Sprintf("%s: %s is a link that leads out of the project, to %s: only files of the project are written; put a folder or a file in place of the link", e.File, e.Link, to)
}

// Inside checks that no link leads from the folder of a project to one of these files elsewhere.
// The names are absolute or relative to dir, and the files need not exist. The error is a
// *LinkError.
func Inside(dir string, files ...string) error {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if root, err = filepath.Abs(root); err != nil {
		return err
	}
	for _, file := range files {
		at := file
		if !filepath.IsAbs(at) {
			at = filepath.Join(root, filepath.FromSlash(at))
		}
		real, err := filepath.EvalSymlinks(at)
		for errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Lstat(at); err == nil {
				return &LinkError{File: file, Link: at} // a link without a target
			}
			at = filepath.Dir(at)
			real, err = filepath.EvalSymlinks(at)
		}
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
			return &LinkError{File: file, Link: at, To: real}
		}
	}
	return nil
}

// readLink follows a link of the project in dir.
func readLink(dir, name string, known func(string) bool) link {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return link{}
	}
	if rel, err := filepath.Rel(dir, real); err == nil && known(filepath.ToSlash(rel)) {
		return link{to: filepath.ToSlash(rel), inside: true}
	}
	return link{to: real}
}

// real returns the name of a file without links in it. The error is a *LinkError.
func (l links) real(name string) (string, error) {
	parts := strings.Split(name, "/")
	for i := range parts {
		at := strings.Join(parts[:i+1], "/")
		to, ok := l[at]
		if !ok {
			continue
		}
		if !to.inside {
			return "", &LinkError{File: name, Link: at, To: to.to}
		}
		// The target has no links in it, but the rest of the name may have one.
		rest := parts[i+1:]
		if len(rest) == 0 {
			return to.to, nil
		}
		if to.to == "." {
			return l.real(strings.Join(rest, "/"))
		}
		return l.real(to.to + "/" + strings.Join(rest, "/"))
	}
	return name, nil
}

// copy makes the links in a copy of the project. Links to files that are not copied lead to the
// originals, so that they can be read.
func (l links) copy(dir string) error {
	for name, to := range l {
		if to.to == "" {
			continue
		}
		file, target := filepath.Join(dir, filepath.FromSlash(name)), to.to
		if to.inside {
			target = filepath.Join(dir, filepath.FromSlash(to.to))
			if _, err := os.Stat(target); err != nil { // files are copied already, so a missing target is an empty folder
				if err := os.MkdirAll(target, 0o777); err != nil {
					return err
				}
			}
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.Symlink(target, file); err != nil {
			return err
		}
	}
	return nil
}
