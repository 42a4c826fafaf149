package scaffold

import (
	"context"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// unbuilt returns options without generating, tidying and building.
func unbuilt(dir string) Options {
	return Options{
		Dir:      dir,
		Generate: func(context.Context, string) error { return nil },
		command:  func(context.Context, string, string, ...string) error { return nil },
	}
}

// golden compares the files that a step made or changed with a golden file.
func golden(t *testing.T, name, dir string, r *Result) {
	t.Helper()
	got := &txtar.Archive{}
	for _, f := range r.Removed {
		got.Comment = append(got.Comment, "removed "+f+"\n"...)
	}
	for _, f := range r.Files {
		data, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if f == "go.mod" { // the checkout is at another place on every machine
			data = slices.Concat(data[:strings.Index(string(data), "=> ")+3], []byte("CHECKOUT\n"))
		}
		got.Files = append(got.Files, txtar.File{Name: f, Data: data})
	}
	file := filepath.Join("testdata", name+".txtar")
	if *update {
		if err := os.WriteFile(file, txtar.Format(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents(want), contents(got)); diff != "" {
		t.Errorf("%s, want what %s has; -update writes it anew (-want +got):\n%s", name, file, diff)
	}
}

func contents(a *txtar.Archive) map[string]string {
	out := map[string]string{"": string(a.Comment)}
	for _, f := range a.Files {
		out[f.Name] = string(f.Data)
	}
	return out
}

// TestGolden makes a project step by step. testdata has the output of each step.
func TestGolden(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	o := unbuilt(dir)
	for _, step := range []struct {
		name string
		make func() (*Result, error)
	}{
		{"init", func() (*Result, error) {
			return Init(t.Context(), o, Project{Domain: "example.com", Module: "example.com/shop"})
		}},
		{"api", func() (*Result, error) {
			return CreateAPI(t.Context(), o, NewAPI{Group: "shop", Version: "v1", Kind: "Order", Resource: true, Controller: true})
		}},
		{"webhooks", func() (*Result, error) {
			return CreateWebhook(t.Context(), o, NewWebhook{Group: "shop", Version: "v1", Kind: "Order", Defaulting: true, Validation: true, Conversion: true})
		}},
		{"version", func() (*Result, error) {
			return CreateAPI(t.Context(), o, NewAPI{Group: "shop", Version: "v2", Kind: "Order", Resource: true})
		}},
		{"same-kind", func() (*Result, error) {
			return CreateAPI(t.Context(), o, NewAPI{Group: "back-office", Version: "v1", Kind: "Order", Namespaced: new(false), Resource: true, Controller: true})
		}},
		{"external", func() (*Result, error) {
			return CreateAPI(t.Context(), o, NewAPI{Group: "apps", Version: "v1", Kind: "Deployment", Controller: true})
		}},
		{"external-webhook", func() (*Result, error) {
			return CreateWebhook(t.Context(), o, NewWebhook{Group: "core", Version: "v1", Kind: "Pod", Defaulting: true, Validation: true})
		}},
		{"delete", func() (*Result, error) {
			return DeleteAPI(t.Context(), o, Removal{Group: "back-office", Version: "v1", Kind: "Order"})
		}},
		{"edit", func() (*Result, error) {
			return Edit(t.Context(), o, func(f *Features) {
				*f = Features{Namespaced: true, CertManager: true, NetworkPolicy: true, Prometheus: true, AllowDangerousTypes: true}
			})
		}},
	} {
		r, err := step.make()
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		golden(t, step.name, dir, r)
	}
}

// A user takes over a file by removing its first line. The file then stays unchanged, and a note
// says so.
func TestTakenOver(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	o := unbuilt(dir)
	if _, err := Init(t.Context(), o, Project{Domain: "example.com", Module: "example.com/shop"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "internal/setup/setup.go")
	if err := os.WriteFile(file, []byte("package setup // mine\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := CreateAPI(t.Context(), o, NewAPI{Group: "shop", Version: "v1", Kind: "Order", Resource: true})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "package setup // mine\n" {
		t.Errorf("it is now: %s, %v", data, err)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "internal/setup/setup.go is yours") || !strings.Contains(r.Notes[0], "shopv1.AddToScheme") {
		t.Errorf("notes: %q", r.Notes)
	}
}

// A step that fails at its very end leaves everything unchanged.
func TestFailureLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	good := unbuilt(dir)
	if _, err := Init(t.Context(), good, Project{Domain: "example.com", Module: "example.com/shop"}); err != nil {
		t.Fatal(err)
	}
	before, _, err := readTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	broken := func(context.Context, string) error { return context.DeadlineExceeded }
	bad := good
	bad.Generate = broken
	if _, err := CreateAPI(t.Context(), bad, NewAPI{Group: "shop", Version: "v1", Kind: "Order", Resource: true}); err != context.DeadlineExceeded {
		t.Errorf("create: %v", err)
	}
	bad.Dir = filepath.Join(filepath.Dir(dir), "other")
	if _, err := Init(t.Context(), bad, Project{Domain: "example.com", Module: "example.com/shop"}); err != context.DeadlineExceeded {
		t.Errorf("init: %v", err)
	}
	after, _, err := readTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(before, after, slices.Equal[[]byte]) {
		t.Error("files changed")
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the project there is: %v, %v", left, err)
	}
}

// A file that the user edits during a step is kept, and the step writes no other file either.
func TestEditedMeanwhile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	o := unbuilt(dir)
	if _, err := Init(t.Context(), o, Project{Domain: "example.com", Module: "example.com/shop"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, ProjectFile)
	o.Generate = func(context.Context, string) error { return os.WriteFile(file, []byte("mine"), 0o666) }
	_, err := CreateAPI(t.Context(), o, NewAPI{Group: "shop", Version: "v1", Kind: "Order", Resource: true})
	if err == nil || !strings.Contains(err.Error(), "PROJECT was changed by somebody else meanwhile") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "api")); !os.IsNotExist(err) {
		t.Errorf("api: %v", err)
	}
}

// The options that a program and its tests share have a file of the user's: every step keeps it, setup.go calls it, and a
// project of before gets it.
func TestOptionsOfTheUser(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	o := unbuilt(dir)
	if _, err := Init(t.Context(), o, Project{Domain: "example.com", Module: "example.com/shop"}); err != nil {
		t.Fatal(err)
	}
	file, setup := filepath.Join(dir, "internal/setup/tune.go"), filepath.Join(dir, "internal/setup/setup.go")
	const mine = "package setup\n\nimport \"github.com/flyball-io/flyball\"\n\nfunc tune(o *flyball.Options) { o.Cache.MemoryBudget = 1 }\n"
	step := func(kind string) string {
		t.Helper()
		if _, err := CreateAPI(t.Context(), o, NewAPI{Group: "shop", Version: "v1", Kind: kind, Resource: true, Controller: true}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		calls, err2 := os.ReadFile(setup)
		if err != nil || err2 != nil || !strings.Contains(string(calls), "\ttune(&o)\n") {
			t.Errorf("%v, %v, %s", err, err2, calls)
		}
		return string(text)
	}
	if err := os.WriteFile(file, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := step("Order"); got != mine {
		t.Errorf("the user's file is %s", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := step("Item"); !strings.Contains(got, "func tune(o *flyball.Options)") {
		t.Errorf("made again: %s", got)
	}
}
