package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/cmd/flyball/internal/kustomize"
	"github.com/flyball-io/flyball/internal/manifest"
)

// renamedGuestbook renders the sample with these lines instead of the first ones of config/default.
func renamedGuestbook(t *testing.T, lines string) []manifest.Object {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "config")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "guestbook", "config"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "default", "kustomization.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(strings.Replace(string(data), "namePrefix: guestbook-\n", lines, 1), "namespace: guestbook-system\n", "namespace: elsewhere\n", 1)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	objs, err := kustomize.Build(filepath.Join(dir, "default"))
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// config/default is the one place for names: the flags of the program and its permissions follow.
func TestNamesFollowKustomize(t *testing.T) {
	for lines, name := range map[string]func(string) string{
		"namePrefix: guestbook-\n":         func(s string) string { return "guestbook-" + s },
		"namePrefix: team-a-\n":            func(s string) string { return "team-a-" + s },
		"nameSuffix: -b\n":                 func(s string) string { return s + "-b" },
		"namePrefix: x-\nnameSuffix: -y\n": func(s string) string { return "x-" + s + "-y" },
		"":                                 func(s string) string { return s },
	} {
		objs := renamedGuestbook(t, lines)
		byKind := map[string][]manifest.Object{}
		for _, o := range objs {
			byKind[o.GetKind()] = append(byKind[o.GetKind()], o)
		}
		named := func(kind string) string { return byKind[kind][0].GetName() }

		containers, _, _ := unstructured.NestedSlice(byKind["Deployment"][0].Object, "spec", "template", "spec", "containers")
		args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		for flag, want := range map[string]string{
			"--webhook-service":    name("webhook-service"),
			"--webhook-mutating":   named("MutatingWebhookConfiguration"),
			"--webhook-validating": named("ValidatingWebhookConfiguration"),
		} {
			i := slices.Index(args, flag)
			if i < 0 || args[i+1] != want {
				t.Errorf("%q: args %q, want %s %s", lines, args, flag, want)
			}
		}
		if !slices.ContainsFunc(byKind["Service"], func(o manifest.Object) bool { return o.GetName() == name("webhook-service") }) {
			t.Errorf("%q: there is no Service %s", lines, name("webhook-service"))
		}
		if got, want := named("MutatingWebhookConfiguration"), name("mutating-webhook-configuration"); got != want {
			t.Errorf("%q: %s, want %s", lines, got, want)
		}

		granted := map[string]string{}
		for _, role := range byKind["ClusterRole"] {
			rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
			for _, r := range rules {
				resources, _, _ := unstructured.NestedStringSlice(r.(map[string]any), "resources")
				names, _, _ := unstructured.NestedStringSlice(r.(map[string]any), "resourceNames")
				if len(names) > 0 {
					granted[strings.Join(resources, ",")] = strings.Join(names, ",")
				}
			}
		}
		for resource, want := range map[string]string{
			"mutatingwebhookconfigurations":   named("MutatingWebhookConfiguration"),
			"validatingwebhookconfigurations": named("ValidatingWebhookConfiguration"),
			"customresourcedefinitions":       named("CustomResourceDefinition"),
		} {
			if granted[resource] != want {
				t.Errorf("%q: may change %s %q, want %s", lines, resource, granted[resource], want)
			}
		}
	}
}
