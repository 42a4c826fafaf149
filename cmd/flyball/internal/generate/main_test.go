package generate

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/flyball-io/flyball/test/servertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	// The projects of these tests are outside of the workspace.
	if err := os.Setenv("GOWORK", "off"); err != nil {
		panic(err)
	}
	servertest.Main(m)
}

// newProject writes archives as a module with the dependencies of this one.
func newProject(t *testing.T, archives ...string) string {
	t.Helper()
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"module example.com/shop"}
	for l := range strings.Lines(string(mod)) {
		if !strings.HasPrefix(l, "module") && !strings.Contains(l, "flyball-io") {
			lines = append(lines, strings.TrimRight(l, "\n"))
		}
	}
	sum, err := os.ReadFile(filepath.Join("..", "..", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "go.mod", []byte(strings.Join(lines, "\n")+"\n"))
	write(t, dir, "go.sum", sum)
	for _, name := range archives {
		for _, f := range readArchive(t, name).Files {
			write(t, dir, f.Name, f.Data)
		}
	}
	return dir
}

func readArchive(t *testing.T, name string) *txtar.Archive {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// edit replaces text in a file. The text must be there.
func edit(t *testing.T, dir, name, old, replacement string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%s has no %q", name, old)
	}
	write(t, dir, name, bytes.ReplaceAll(data, []byte(old), []byte(replacement)))
}

// state returns every file of a folder, with content and time of change.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		out[relative(dir, path)] = info.ModTime().String() + "\n" + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func apply(t *testing.T, make func(context.Context, Options) (*Plan, error), o Options) *Plan {
	t.Helper()
	plan, err := make(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	return plan
}
