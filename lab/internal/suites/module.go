// Package suites runs the own tests of published modules over the packed cache. Nothing of their source is in
// this tree: it is copied from the module cache to a temporary folder.
package suites

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Adapter is the module of the adapter, and NoVersion the version by which a module requires one of this tree.
const (
	Adapter   = core + "/adapter"
	NoVersion = "v0.0.0-00010101000000-000000000000"

	core = "github.com/flyball-io/flyball"
)

// Root returns the folder of the adapter's module.
func Root(ctx context.Context) (string, error) {
	here, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", Adapter).Output()
	if err != nil {
		return "", fmt.Errorf("the module %s is neither here nor in the workspace: %w", Adapter, err)
	}
	return strings.TrimSpace(string(here)), nil
}

// CopyTree copies a folder. The copies can be written.
func CopyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
}

// Require makes a copied module require the modules of this tree.
func Require(ctx context.Context, dir, root string, more ...string) error {
	return RequireCore(ctx, dir, root, append([]string{"-require=" + Adapter + "@" + NoVersion, "-replace=" + Adapter + "=" + root}, more...)...)
}

// RequireCore makes a copied module require the core module of this tree. Others would bring newer libraries with them.
func RequireCore(ctx context.Context, dir, root string, more ...string) error {
	_, err := Command(ctx, dir, "go", append([]string{"mod", "edit", "-require=" + core + "@" + NoVersion, "-replace=" + core + "=" + filepath.Dir(root)}, more...)...)
	return err
}

// Edit replaces a text that a file has once.
func Edit(file, old, text string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := bytes.Count(b, []byte(old)); n != 1 {
		return fmt.Errorf("%s: %q is there %d times, not once", file, old, n)
	}
	return os.WriteFile(file, bytes.Replace(b, []byte(old), []byte(text), 1), 0o644)
}

// Command runs a command outside of any workspace, and returns its output.
func Command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &failure, time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, failure.Bytes())
	}
	return strings.TrimSpace(out.String()), nil
}
