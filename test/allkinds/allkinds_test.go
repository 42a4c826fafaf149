package allkinds

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/scheme"
)

// Every group version of k8s.io/api is in one of the two packages, by whether it is stable.
func TestKnowsEveryGroupVersion(t *testing.T) {
	list := func(args ...string) []string {
		out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	imports := func(pkg string) []string { return list("-f", `{{join .Imports "\n"}}`, pkg) }
	stable, unstable := imports("../../scheme"), imports(".")
	groupVersion := regexp.MustCompile(`/v\d+((alpha|beta)\d+)?$`)
	for _, p := range list("k8s.io/api/...") {
		of := groupVersion.FindStringSubmatch(p)
		if of == nil {
			continue
		}
		in, out, name := stable, unstable, "scheme"
		if of[1] != "" {
			in, out, name = unstable, stable, "allkinds"
		}
		if !slices.Contains(in, p) || slices.Contains(out, p) {
			t.Errorf("%s is to be registered by %s alone", p, name)
		}
	}
}

func TestNewHasEveryVersion(t *testing.T) {
	claim := resourcev1beta1.SchemeGroupVersion.WithKind("ResourceClaim")
	if scheme.New().Recognizes(claim) {
		t.Errorf("%s is of every program", claim)
	}
	s := New()
	for _, gvk := range []schema.GroupVersionKind{claim, corev1.SchemeGroupVersion.WithKind("Pod")} {
		if !s.Recognizes(gvk) {
			t.Errorf("%s is not registered", gvk)
		}
	}
}
