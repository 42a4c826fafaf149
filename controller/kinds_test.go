package controller_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/reconcile"
)

func TestKindsAreGivenOnceInOrder(t *testing.T) {
	const pods = "*v1.Pod v1 Pod"
	for name, tc := range map[string]struct {
		sources []controller.Source[reconcile.Request]
		want    []string
	}{
		"each once, in order": {
			sources: one(forDeployments(), controller.Owns[corev1.Pod](), controller.Watches[corev1.Pod](handler.Self())),
			want:    []string{"*v1.Deployment apps/v1 Deployment", pods},
		},
		"metadata beside whole objects": {
			sources: one(forDeployments(), controller.Owns[corev1.Pod](), controller.OwnsKind[metav1.PartialObjectMetadata](podGVK)),
			want:    []string{"*v1.Deployment apps/v1 Deployment", pods, "*v1.PartialObjectMetadata v1 Pod"},
		},
		"known at run time": {
			sources: one(controller.ForKind[unstructured.Unstructured](nodeGVK)),
			want:    []string{"*unstructured.Unstructured v1 Node"},
		},
		"nothing from outside": {
			sources: one(controller.WithoutFor(), controller.Channel(make(chan *corev1.Pod), handler.Self())),
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newController(t, newManager(), new(recorder).Reconcile, controller.Options{}, tc.sources...)
			var got []string
			for _, k := range c.Kinds(nil) {
				gvk := k.GetObjectKind().GroupVersionKind()
				got = append(got, fmt.Sprintf("%T %s %s", k, gvk.GroupVersion(), gvk.Kind))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
