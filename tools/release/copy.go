package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// release is a clone of the repository in which the release is made.
type release struct{ dir string }

// git runs git in a folder.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(errOut.Bytes()))
	}
	return out.String(), nil
}

// copyOf clones a repository. With worktree the clone has what the working tree has, too.
func copyOf(root, dir string, worktree bool) (*release, error) {
	if _, err := git(root, "clone", "--quiet", "--shared", root, dir); err != nil {
		return nil, err
	}
	c := &release{dir}
	for _, key := range []string{"user.name", "user.email"} {
		if value, err := git(root, "config", key); err == nil {
			if _, err := git(dir, "config", key, strings.TrimSpace(value)); err != nil {
				return nil, err
			}
		} else if worktree { // a machine that commits nothing needs no name of its own
			if _, err := git(dir, "config", key, "release@localhost"); err != nil {
				return nil, err
			}
		}
	}
	if !worktree {
		return c, nil
	}
	files, err := git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	for _, name := range strings.FieldsFunc(files, func(r rune) bool { return r == 0 }) {
		to := filepath.Join(dir, filepath.FromSlash(name))
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			if err := os.Remove(to); err != nil && !os.IsNotExist(err) {
				return nil, err
			}
			continue
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, data, 0o644) // an existing file keeps its mode
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// commit commits all, and returns the commit.
func (c *release) commit(message string) (string, error) {
	return c.committed("-m", message)
}

// amend adds what has changed to the last commit.
func (c *release) amend() (string, error) { return c.committed("--amend", "--no-edit") }

func (c *release) committed(args ...string) (string, error) {
	if _, err := git(c.dir, "add", "--all"); err != nil {
		return "", err
	}
	if _, err := git(c.dir, slices.Concat([]string{"commit", "--quiet", "--allow-empty"}, args)...); err != nil {
		return "", err
	}
	hash, err := git(c.dir, "rev-parse", "HEAD")
	return strings.TrimSpace(hash), err
}

// changelog makes the section of what is unreleased that of a version, and returns its text.
func (c *release) changelog(version string, now time.Time) (string, error) {
	name := filepath.Join(c.dir, "CHANGELOG.md")
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	const unreleased = "## Unreleased\n"
	before, after, ok := strings.Cut(string(data), unreleased)
	if !ok {
		return "", fmt.Errorf("CHANGELOG.md has no section %q", strings.TrimSpace(unreleased))
	}
	notes, _, _ := strings.Cut(after, "\n## ")
	if notes = strings.TrimSpace(notes); notes == "" {
		return "", fmt.Errorf("CHANGELOG.md says nothing of %s: its section %q is empty", version, strings.TrimSpace(unreleased))
	}
	text := fmt.Sprintf("%s%s\n## %s, %s\n%s", before, unreleased, version, now.UTC().Format(time.DateOnly), after)
	return notes, os.WriteFile(name, []byte(text), 0o644)
}

// require writes the version into the go.mod of each module that requires others.
func (c *release) require(version string) error {
	for _, m := range modules {
		f, err := m.modFile(c.dir)
		if err != nil {
			return err
		}
		needs := ours(f)
		for _, n := range needs {
			if err := f.AddRequire(n.path(), version); err != nil {
				return err
			}
		}
		if len(needs) == 0 {
			continue
		}
		data, err := f.Format()
		if err != nil {
			return err
		}
		if err := os.WriteFile(m.file(c.dir, "go.mod"), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sum adds the hashes of the modules that each one requires to its go.sum, and returns all of them.
func (c *release) sum(version string) (map[mod]string, error) {
	sums := map[mod]string{}
	lines := map[mod][]string{}
	for _, m := range modules {
		f, err := m.modFile(c.dir)
		if err != nil {
			return nil, err
		}
		var add []string
		for _, n := range ours(f) {
			add = append(add, lines[n]...)
		}
		if len(add) > 0 {
			if err := addSums(m.file(c.dir, "go.sum"), add); err != nil {
				return nil, err
			}
			if _, err := c.amend(); err != nil {
				return nil, err
			}
		}
		whole, goMod, err := c.hash(m, version)
		if err != nil {
			return nil, err
		}
		sums[m] = whole
		lines[m] = []string{fmt.Sprintf("%s %s %s", m.path(), version, whole), fmt.Sprintf("%s %s/go.mod %s", m.path(), version, goMod)}
	}
	return sums, nil
}

// addSums adds lines to a go.sum, which is sorted.
func addSums(name string, lines []string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	all := append(strings.Split(strings.TrimSpace(string(data)), "\n"), lines...)
	slices.SortFunc(all, func(a, b string) int { return slices.Compare(strings.Fields(a), strings.Fields(b)) })
	return os.WriteFile(name, []byte(strings.Join(slices.Compact(all), "\n")+"\n"), 0o644)
}

// hash returns the hashes of a module and of its go.mod, as go.sum has them.
func (c *release) hash(m mod, version string) (whole, goMod string, err error) {
	f, err := os.CreateTemp("", "release-*.zip")
	if err != nil {
		return "", "", err
	}
	defer os.Remove(f.Name())
	err = c.zip(f, m, version)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", "", err
	}
	if whole, err = dirhash.HashZip(f.Name(), dirhash.DefaultHash); err != nil {
		return "", "", err
	}
	data, err := os.ReadFile(m.file(c.dir, "go.mod"))
	if err != nil {
		return "", "", err
	}
	goMod, err = dirhash.DefaultHash([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	return whole, goMod, err
}

// zip writes a module of the last commit, as the go command gets it from a tag.
func (c *release) zip(to *os.File, m mod, version string) error {
	if err := zip.CreateFromVCS(to, module.Version{Path: m.path(), Version: version}, c.dir, "HEAD", string(m)); err != nil {
		return fmt.Errorf("%s: %w", m.path(), err)
	}
	return nil
}

// verify checks that the last commit has the modules whose hashes its go.sum files have.
func (c *release) verify(version string, sums map[mod]string) error {
	for _, m := range modules {
		whole, _, err := c.hash(m, version)
		if err != nil {
			return err
		}
		if whole != sums[m] {
			return fmt.Errorf("%s has changed while its hash was made: %s and %s", m.path(), sums[m], whole)
		}
	}
	return nil
}
