package suites

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/flyball-io/flyball/internal/gomod"
)

// CopyModule copies a module of the module cache, and gives it the modules of this tree. More are folders of further
// modules in that of the adapter.
func CopyModule(ctx context.Context, dir, name, version string, more ...string) error {
	root, err := Copy(ctx, dir, name, version)
	if err != nil {
		return err
	}
	var edits []string
	for _, folder := range more {
		mod := Adapter + "/" + folder
		edits = append(edits, "-require="+mod+"@"+NoVersion, "-replace="+mod+"="+filepath.Join(root, folder))
	}
	return Require(ctx, dir, root, edits...)
}

// Copy copies a module of the module cache. An empty version is that of the workspace. It returns the folder of the
// adapter's module.
func Copy(ctx context.Context, dir, name, version string) (root string, err error) {
	if root, err = Root(ctx); err != nil {
		return "", err
	}
	if version == "" {
		out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", name).Output()
		if err != nil {
			return "", fmt.Errorf("go list -m %s: %w", name, err)
		}
		version = strings.TrimSpace(string(out))
	}
	from, err := gomod.Download(ctx, name, version)
	if err != nil {
		return "", err
	}
	return root, CopyTree(dir, from.Dir)
}
