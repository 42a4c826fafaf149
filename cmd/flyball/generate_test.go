package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/plane"
)

// TestGenerateScript runs the generators in a module with the dependencies of this one.
func TestGenerateScript(t *testing.T) {
	tier.NotShort(t, "starts other processes")
	t.Parallel()
	path := scriptEnv(t)
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("module example.com/shop\n")
	for l := range strings.Lines(string(mod)) {
		if !strings.HasPrefix(l, "module") && !strings.Contains(l, "flyball-io") {
			b.WriteString(l)
		}
	}
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Fields(string(caches))
	rules, err := plane.BuildRules(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "generate"),
		Setup: func(env *testscript.Env) error {
			path(env)
			env.Setenv("GOWORK", "off")
			env.Setenv(plane.RulesEnv, rules)
			env.Setenv("GOCACHE", dirs[0])
			env.Setenv("GOMODCACHE", dirs[1])
			if err := os.WriteFile(filepath.Join(env.WorkDir, "go.mod"), []byte(b.String()), 0o644); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "go.sum"), sum, 0o644)
		},
	})
}

func TestGenerateExitStatus(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, test := range []struct {
		args string
		want int
	}{
		{"generate", 1},
		{"generate --year", 2},
		{"generate now", 2},
		{"generate --what", 2},
		{"manifests", 1},
		{"manifests --max-description x", 2},
		{"manifests now", 2},
		{"crd", 0},
		{"crd compare", 2},
		{"crd diff a", 2},
		{"crd diff - -", 2},
		{"crd diff a b", 2},
		{"crd diff a b -o xml", 2},
	} {
		if got := run(strings.Fields(test.args)); got != test.want {
			t.Errorf("%s: exit status %d, want %d", test.args, got, test.want)
		}
	}
}
