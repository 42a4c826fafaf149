package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// side is what one of the commands made of a module.
type side struct {
	definitions, configs map[string]any // by file
	methods              map[string]string
	warnings             int
	refused              []string // what it said, by generator
	took                 time.Duration
}

// The folders of the manifests below that of the output.
var (
	definitionsDir = filepath.Join("crd", "bases")
	configDirs     = []string{"rbac", "webhook"}
)

// roleName is the name of the role of both commands.
const roleName = "manager-role"

// runControllerGen calls each generator of its own, so that an error of one does not hide those of others.
func (t *tools) runControllerGen(ctx context.Context, m module, src, out string) (*side, error) {
	crd := []string{}
	if m.objectMeta {
		crd = append(crd, "generateEmbeddedObjectMeta=true")
	}
	if m.floats {
		crd = append(crd, "allowDangerousTypes=true")
	}
	s := &side{}
	for _, args := range [][]string{
		{strings.TrimSuffix("crd:"+strings.Join(crd, ","), ":"), "output:crd:dir=" + filepath.Join(out, definitionsDir)},
		{"rbac:roleName=" + roleName, "output:rbac:dir=" + filepath.Join(out, configDirs[0])},
		{"webhook", "output:webhook:dir=" + filepath.Join(out, configDirs[1])},
		{"object"},
	} {
		for _, path := range m.read {
			args = append(args, "paths="+path)
		}
		if err := s.call(ctx, src, t.controllerGen, args...); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (t *tools) runFlyball(ctx context.Context, m module, src, out string) (*side, error) {
	paths := "--paths=" + strings.Join(m.read, ",")
	manifests := []string{"manifests", paths, "--output=" + out, "--role-name=" + roleName}
	if m.objectMeta {
		manifests = append(manifests, "--generate-embedded-object-meta")
	}
	if m.floats {
		manifests = append(manifests, "--allow-dangerous-types")
	}
	if t.rules {
		manifests = append(manifests, "--rules")
	}
	s := &side{}
	if err := s.call(ctx, src, t.flyball, manifests...); err != nil {
		return nil, err
	}
	return s, s.call(ctx, src, t.flyball, "generate", paths, "--header-file=")
}

// call runs a command outside of any workspace. What it refuses is no error.
func (s *side) call(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), "GOWORK=off"), time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	for line := range strings.Lines(said.String()) {
		if strings.HasPrefix(line, "warning:") {
			s.warnings++
		}
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		generator, _, _ := strings.Cut(args[0], ":")
		s.refused = append(s.refused, generator+": "+first(said.String()))
		return nil
	}
	return err
}

// first returns the lines about problems, as far as they are few.
func first(said string) string {
	var out []string
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "warning:") && len(out) < 6 {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n\t")
}
