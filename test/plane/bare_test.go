package plane_test

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"

	kube "github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/test/plane"
)

// A bare control plane has no nodes and no service accounts, and takes Pods all the same.
func TestBareControlPlane(t *testing.T) {
	livetest.NeedReal(t)
	p, err := plane.Start(t.Context(), plane.Options{Bare: true, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	c, err := kube.New(p.RESTConfig(), kube.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pod := testobj.Pod("default/a")
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	if _, err := kube.Create(t.Context(), c, pod); err != nil {
		t.Error(err)
	}
	for range kube.List[corev1.Node](t.Context(), c) {
		t.Error("there are nodes")
	}
	for range kube.List[corev1.ServiceAccount](t.Context(), c) {
		t.Error("there are service accounts")
	}
}
