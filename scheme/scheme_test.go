package scheme_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/scheme"
)

func TestNewHasEveryStableKind(t *testing.T) {
	s := scheme.New()
	for _, gvk := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"},
		{Version: "v1", Kind: "PodList"},
		{Version: "v1", Kind: "Status"},
		{Version: "v1", Kind: "WatchEvent"},
		{Version: "v1", Kind: "ListOptions"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "autoscaling", Version: "v1", Kind: "Scale"},
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
		{Group: "events.k8s.io", Version: "v1", Kind: "Event"},
		{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadataList"},
		{Group: "meta.k8s.io", Version: "v1", Kind: "Table"},
	} {
		if !s.Recognizes(gvk) {
			t.Errorf("%s is not registered", gvk)
		}
	}
	kinds, unversioned, err := s.ObjectKinds(&metav1.Status{})
	if err != nil || !unversioned || kinds[0] != corev1.SchemeGroupVersion.WithKind("Status") {
		t.Errorf("Status: %v unversioned=%v err=%v", kinds, unversioned, err)
	}
}

func TestNewBelongsToTheCaller(t *testing.T) {
	a, b := scheme.New(), scheme.New()
	mine := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Mine"}
	a.AddKnownTypeWithName(mine, &corev1.Pod{})
	if b.Recognizes(mine) {
		t.Error("a type added to one scheme is known to another")
	}
}

// Every stable group version of k8s.io/api is registered, but for those that its oldest supported
// version does not have.
func TestNewHasEveryStableGroupVersion(t *testing.T) {
	tier.Audit(t, "runs the go command")
	list := func(args ...string) []string {
		out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	registered := list("-f", `{{join .Imports "\n"}}`, ".")
	newer := []string{"k8s.io/api/storagemigration/v1"}
	stable := regexp.MustCompile(`/v\d+$`)
	for _, p := range list("k8s.io/api/...") {
		if stable.MatchString(p) && !slices.Contains(newer, p) && !slices.Contains(registered, p) {
			t.Errorf("%s is not registered", p)
		}
	}
}
