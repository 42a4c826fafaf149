// Command after keeps a Deployment for each Foo. It is written with Flyball.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/scheme"

	"github.com/flyball-io/flyball/examples/migrating/foo/api"
)

func main() {
	o := flyball.Options{Name: "foo", Scheme: scheme.New()}
	o.Bind(flag.CommandLine)
	flag.Parse()
	if err := run(flyball.SignalContext(), o); err != nil {
		fmt.Fprintln(os.Stderr, "foo:", err)
		os.Exit(1)
	}
}

// run runs the program until ctx ends.
func run(ctx context.Context, o flyball.Options) error {
	if err := api.AddToScheme(o.Scheme); err != nil {
		return err
	}
	mgr, err := flyball.New(o)
	if err != nil {
		return err
	}
	r := &reconciler{client: mgr.Client(), events: mgr.Events()}
	_, err = controller.NewWith(mgr, "foo", r.reconcile, controller.Options{Workers: 2},
		controller.For[api.Foo](), controller.Owns[appsv1.Deployment]())
	if err != nil {
		return err
	}
	return mgr.Run(ctx)
}

type reconciler struct {
	client client.Client
	events *event.Recorder
}

// reconcile makes the Deployment of one Foo what it should be.
func (r *reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	foo, err := client.Get[api.Foo](ctx, r.client, req)
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if foo.Spec.DeploymentName == "" {
		return reconcile.Result{}, reconcile.Terminal(errors.New("spec.deploymentName is empty"))
	}
	d, _, err := child.Ensure(ctx, r.client, foo, deploymentOf(foo), child.Force())
	if child.IsTaken(err) {
		r.events.Event(foo, event.Warning, "ErrResourceExists", "Sync", "%v", err)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	before := foo.DeepCopy()
	foo.Status.AvailableReplicas = d.Status.AvailableReplicas
	if _, err := client.PatchStatusIfChanged(ctx, r.client, before, foo); err != nil {
		return reconcile.Result{}, err
	}
	r.events.Event(foo, event.Normal, "Synced", "Sync", "the Deployment is as it should be")
	return reconcile.Result{}, nil
}

// deploymentOf is what the Deployment of a Foo should be. child.Ensure adds the owner reference.
func deploymentOf(foo *api.Foo) *appsv1.Deployment {
	labels := map[string]string{"app": "nginx", "controller": foo.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: foo.Spec.DeploymentName, Namespace: foo.Namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: foo.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:latest"}}},
			},
		},
	}
}
