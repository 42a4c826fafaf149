package scaffold

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every step in a project of kubebuilder names what was found, and writes nothing.
func TestForeign(t *testing.T) {
	for name, test := range map[string]struct {
		project, version string
		layouts          []string
	}{
		"v4":        {"domain: example.com\nlayout:\n- go.kubebuilder.io/v4\nprojectName: shop\nrepo: example.com/shop\nversion: \"3\"\n", "3", []string{"go.kubebuilder.io/v4"}},
		"one text":  {"domain: example.com\nlayout: go.kubebuilder.io/v3\nrepo: example.com/shop\nversion: \"3\"\n", "3", []string{"go.kubebuilder.io/v3"}},
		"several":   {"layout:\n- go.kubebuilder.io/v4\n- helm.kubebuilder.io/v1-alpha\nversion: \"3\"\n", "3", []string{"go.kubebuilder.io/v4", "helm.kubebuilder.io/v1-alpha"}},
		"no layout": {"domain: example.com\nrepo: example.com/shop\nversion: \"2\"\n", "2", nil},
		"alpha":     {"version: 3-alpha\n", "3-alpha", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, ProjectFile)
			if err := os.WriteFile(file, []byte(test.project), 0o666); err != nil {
				t.Fatal(err)
			}
			o := unbuilt(dir)
			_, initErr := Init(t.Context(), o, Project{Domain: "example.com", Module: "example.com/shop"})
			_, apiErr := CreateAPI(t.Context(), o, NewAPI{Group: "shop", Version: "v1", Kind: "Order", Resource: true, Controller: true})
			_, hookErr := CreateWebhook(t.Context(), o, NewWebhook{Group: "shop", Version: "v1", Kind: "Order", Defaulting: true})
			for _, err := range []error{initErr, apiErr, hookErr} {
				e, ok := errors.AsType[*ForeignError](err)
				if !ok || e.File != file || e.Version != test.version || !slices.Equal(e.Layouts, test.layouts) {
					t.Errorf("%v", err)
				}
				if !strings.Contains(err.Error(), "ctrlcache.New") {
					t.Errorf("it does not say what to do: %v", err)
				}
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
	for _, own := range []string{"version: 1\n", "version: 7\n", "name: shop\n", "version: [\n"} {
		if e := foreign([]byte(own)); e != nil {
			t.Errorf("%q: %v", own, e)
		}
	}
}
