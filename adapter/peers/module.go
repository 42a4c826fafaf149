package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/flyball-io/flyball/adapter/internal/suites"
)

// copyModule copies a module of the module cache, and gives it the modules of this tree. An empty version is that of
// the workspace; more are folders of further modules in that of the adapter.
func copyModule(ctx context.Context, dir, name, version string, more ...string) error {
	root, err := suites.Root(ctx)
	if err != nil {
		return err
	}
	if version == "" {
		out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", name).Output()
		if err != nil {
			return fmt.Errorf("go list -m %s: %w", name, err)
		}
		version = strings.TrimSpace(string(out))
	}
	from, err := suites.Download(ctx, name, version)
	if err != nil {
		return err
	}
	if err := suites.CopyTree(dir, from); err != nil {
		return err
	}
	var edits []string
	for _, folder := range more {
		mod := suites.Adapter + "/" + folder
		edits = append(edits, "-require="+mod+"@"+suites.NoVersion, "-replace="+mod+"="+filepath.Join(root, folder))
	}
	return suites.Require(ctx, dir, root, edits...)
}

var (
	packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)
	runner        = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n\tRegisterFailHandler`)
)
