package kustomize

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// elsewhere counts remote accesses: requests to a server, and runs of git and helm.
type elsewhere struct {
	url     string
	fetched atomic.Int32
	ran     string
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	e := &elsewhere{ran: filepath.Join(t.TempDir(), "ran")}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		e.fetched.Add(1)
		fmt.Fprintln(w, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fetched}")
	}))
	t.Cleanup(srv.Close)
	e.url = srv.URL
	bin := t.TempDir()
	for _, name := range []string{"git", "helm", "docker"} {
		script := fmt.Sprintf("#!/bin/sh\necho %s \"$@\" >> %s\nexit 1\n", name, e.ran)
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	return e
}

func (e *elsewhere) nothing(t *testing.T) {
	t.Helper()
	if n := e.fetched.Load(); n > 0 {
		t.Errorf("fetched %d times", n)
	}
	if text, err := os.ReadFile(e.ran); err == nil {
		t.Errorf("ran %s", text)
	}
}

func TestNothingIsFetched(t *testing.T) {
	const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	for name, text := range map[string]string{
		"resource":                 "resources: [URL/x.yaml]",
		"resource in upper case":   "resources: [HTTP://127.0.0.1:1/x.yaml]",
		"Git by HTTP":              "resources: ['URL/org/repo?ref=v1']",
		"Git by HTTPS":             "resources: ['https://127.0.0.1:1/org/repo.git//config?timeout=1']",
		"Git by SSH":               "resources: ['ssh://git@127.0.0.1:1/org/repo']",
		"Git by scp":               "resources: ['git@127.0.0.1:org/repo.git']",
		"Git of a file":            "resources: ['file:///nowhere/repo']",
		"Git by a prefix":          "resources: ['git::URL/org/repo']",
		"GitHub":                   "resources: [github.com/org/repo/config]",
		"GitHub that is there":     "resources: [GitHub.com/org/repo]",
		"base":                     "bases: [URL/org/repo]",
		"component":                "resources: [cm.yaml]\ncomponents: ['URL/org/repo']",
		"in a folder":              "resources: [sub]",
		"generator":                "generators: [URL/g.yaml]",
		"transformer":              "resources: [cm.yaml]\ntransformers: [URL/t.yaml]",
		"validator":                "resources: [cm.yaml]\nvalidators: [URL/v.yaml]",
		"generator by a key":       "generators: ['URL/g.yaml: {}']",
		"CRD":                      "resources: [cm.yaml]\ncrds: [URL/c.yaml]",
		"configuration":            "resources: [cm.yaml]\nconfigurations: [URL/c.yaml]",
		"OpenAPI":                  "resources: [cm.yaml]\nopenapi: {path: URL/o.json}",
		"patch":                    "resources: [cm.yaml]\npatches: [{path: URL/p.yaml}]",
		"JSON patch":               "resources: [cm.yaml]\npatchesJson6902: [{path: URL/p.yaml, target: {kind: ConfigMap, name: x, version: v1}}]",
		"merge patch":              "resources: [cm.yaml]\npatchesStrategicMerge: [URL/p.yaml]",
		"replacement":              "resources: [cm.yaml]\nreplacements: [{path: URL/r.yaml}]",
		"ConfigMap":                "configMapGenerator: [{name: c, files: [URL/f]}]",
		"ConfigMap by key":         "configMapGenerator: [{name: c, files: [key=URL/f]}]",
		"ConfigMap of variables":   "configMapGenerator: [{name: c, env: URL/f}]",
		"Secret":                   "secretGenerator: [{name: c, envs: [URL/f]}]",
		"inline generator":         "generators: ['{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: g}, files: [URL/f]}']",
		"generator in a file":      "generators: [generator.yaml]",
		"transformer in a file":    "resources: [cm.yaml]\ntransformers: [transformer.yaml]",
		"transformer in a list":    "resources: [cm.yaml]\ntransformers: [list.yaml]",
		"transformers in a folder": "resources: [cm.yaml]\ntransformers: [sub]",
		"chart":                    "helmCharts: [{name: c, repo: URL}]",
		"chart, as it was":         "helmChartInflationGenerator: [{chartName: c, chartRepoUrl: URL}]",
	} {
		t.Run(name, func(t *testing.T) {
			dir, e := t.TempDir(), newElsewhere(t)
			in := func(text string) string { return strings.ReplaceAll(text, "URL", e.url) + "\n" }
			write(t, dir, map[string]string{
				"kustomization.yaml":                     in(text),
				"cm.yaml":                                cm,
				"sub/kustomization.yml":                  in("resources: [URL/x.yaml]"),
				"GitHub.com/org/repo/kustomization.yaml": "resources: [cm.yaml]\n",
				"GitHub.com/org/repo/cm.yaml":            cm,
				"generator.yaml":                         in("apiVersion: builtin\nkind: SecretGenerator\nmetadata: {name: g}\nenvs: [URL/f]"),
				"transformer.yaml":                       in("# first\n---\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: g}\npath: URL/f"),
				"list.yaml":                              in("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: builtin, kind: PatchStrategicMergeTransformer, metadata: {name: g}, paths: [URL/f]}"),
			})
			objs, err := Build(dir)
			bad, ok := errors.AsType[*NotLocalError](err)
			if !ok {
				t.Fatalf("got %v and %v, want a NotLocalError", objs, err)
			}
			for _, want := range []string{bad.File, bad.Field, bad.Name, bad.Reason} {
				if want == "" || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
			e.nothing(t)
		})
	}
}

// A local name that only looks remote is used.
func TestLocalIsUsed(t *testing.T) {
	dir, e := t.TempDir(), newElsewhere(t)
	write(t, dir, map[string]string{
		"github.com/org/repo/kustomization.yaml": `
resources: [./me@home.yaml, me@work.yaml, ./github.com/sub]
commonAnnotations: {path: "URL/doc"}
configMapGenerator:
- {name: made, literals: ["files=URL/f"], files: [text, key=text]}
transformers:
- text.yaml
- |
  apiVersion: builtin
  kind: AnnotationsTransformer
  metadata: {name: more, annotations: {path: "URL/x"}}
  annotations: {path: "URL/doc"}
  fieldSpecs: [{path: metadata/annotations, create: true}]
`,
		"github.com/org/repo/me@home.yaml":                      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: home}\n",
		"github.com/org/repo/me@work.yaml":                      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: work}\n",
		"github.com/org/repo/github.com/sub/kustomization.yaml": "resources: [x.yaml]\n",
		"github.com/org/repo/github.com/sub/x.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sub}\n",
		"github.com/org/repo/text":                              "apiVersion: builtin {\n",
		"github.com/org/repo/text.yaml":                         "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: a-\nfieldSpecs: [{path: metadata/name}]\n",
	})
	t.Chdir(dir)
	objs, err := Build("github.com/org/repo") // kustomize takes that for a repository
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range objs {
		name, _, _ := strings.Cut(o.GetName(), "-made-")
		names = append(names, name)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "a-home") || !strings.Contains(got, "a-work") || !strings.Contains(got, "a-sub") || len(objs) != 4 {
		t.Errorf("got %s", got)
	}
	e.nothing(t)
}
