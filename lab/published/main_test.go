package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What differs from controller-gen is an error, and so is a refusal. What controller-gen does not make is none.
func TestResultsAreJudged(t *testing.T) {
	of := func(definition, method string, refused ...string) side {
		return side{definitions: map[string]any{"a.yaml": definition}, methods: map[string]string{"func F()": method}, refused: refused}
	}
	for _, tc := range []struct {
		name    string
		was, is side
		want    string // parts of the errors, separated by commas
	}{
		{"equal", of("x", "y"), of("x", "y"), ""},
		{"another definition", of("x", "y"), of("z", "y"), "definition a.yaml differs"},
		{"no definition", of("x", "y"), side{methods: map[string]string{"func F()": "y"}}, "a.yaml, which flyball does not make"},
		{"another method", of("x", "y"), of("x", "z"), "DeepCopy method func F() differs"},
		{"controller-gen fails", of("x", "y", "object: invalid type"), of("x", "z"), ""},
		{"a refusal", of("x", "y"), of("x", "y", "manifests: no"), "flyball refuses manifests: no"},
		{"nothing to compare", side{}, side{}, "nothing to compare"},
	} {
		r := result{was: tc.was, is: tc.is}
		got := strings.ReplaceAll(fmt.Sprint(r.judge(module{name: "m"})), "[]", "")
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// The version of controller-gen does not count, nor do definitions of kinds without a group.
func TestManifestsAreRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml":  "---\nmetadata:\n  name: x\n  annotations:\n    " + versionAnnotation + ": v1\n---\nkind: B\n",
		"_b.yaml": "kind: C\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readManifests(dir)
	if err != nil || fmt.Sprint(got) != "map[a.yaml:[map[metadata:map[name:x]] map[kind:B]]]" {
		t.Errorf("%v, %v", got, err)
	}
}
