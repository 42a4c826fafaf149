package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flyball-io/flyball/internal/tier"
)

// TestSimScript runs simulations of a module whose package sim is a small one that only writes reports, so that no rules
// are needed and each kind of end can be had.
func TestSimScript(t *testing.T) {
	tier.Audit(t, "runs the go command")
	t.Parallel()
	path := scriptEnv(t)
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "sim"),
		Setup: func(env *testscript.Env) error {
			path(env)
			dir, err := plainProgram()
			if err != nil {
				return err
			}
			env.Setenv("FLYBALL", dir)
			for k, v := range map[string]string{"GOWORK": "off", "GOFLAGS": "-mod=mod -vet=off -ldflags=-w", "GOPROXY": "off", "GOCACHE": strings.TrimSpace(string(out)), "GOTOOLCHAIN": "local"} {
				env.Setenv(k, v)
			}
			return nil
		},
	})
}
