package flyball_test

import (
	"context"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
)

func Example_first() {
	mgr, err := flyball.New(flyball.Options{}) // kubeconfig, or the Pod's service account
	if err != nil {
		log.Fatal(err)
	}
	label := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		pod, err := client.Get[corev1.Pod](ctx, mgr.Client(), req) // from the cache: your own copy
		if err != nil || pod.Labels["example.org/node"] == pod.Spec.NodeName {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		before := pod.DeepCopy()
		metav1.SetMetaDataLabel(&pod.ObjectMeta, "example.org/node", pod.Spec.NodeName)
		_, err = client.Patch(ctx, mgr.Client(), pod, client.Diff(before, pod))
		return reconcile.Result{}, err // an error comes back, with growing delay
	}
	if _, err := controller.New(mgr, "label", label, controller.For[corev1.Pod]()); err != nil {
		log.Fatal(err)
	}
	if err := mgr.Run(flyball.SignalContext()); err != nil {
		log.Fatal(err)
	}
}
