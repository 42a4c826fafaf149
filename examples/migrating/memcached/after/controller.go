package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/condition"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/finalizer"
	"github.com/flyball-io/flyball/reconcile"

	"github.com/flyball-io/flyball/examples/migrating/memcached/api"
)

const cleanup = "cache.example.com/cleanup"

type reconciler struct {
	client client.Client
	events *event.Recorder
}

func (r *reconciler) setup(mgr *flyball.Manager) error {
	_, err := controller.New(mgr, "memcached", r.reconcile,
		controller.For[api.Memcached](),
		controller.Owns[appsv1.Deployment]())
	return err
}

// reconcile makes the servers of one Memcached what they should be.
func (r *reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	m, err := client.Get[api.Memcached](ctx, r.client, req)
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	m, err = finalizer.Run(ctx, r.client, m, cleanup, finalizer.Do("tell people", r.tellOfDeletion))
	if m == nil {
		return finalizer.Result(err)
	}
	status := condition.Begin(m, &m.Status.Conditions)
	d, _, err := child.Ensure(ctx, r.client, m, deploymentOf(m), child.Force())
	if err != nil {
		return reconcile.Result{}, err
	}
	if ready, want := d.Status.ReadyReplicas, m.Spec.Size; ready == want {
		status.True("Available", "Started", "%d of %d servers are ready", ready, want)
	} else {
		status.False("Available", "Starting", "%d of %d servers are ready", ready, want)
	}
	return reconcile.Result{}, status.Patch(ctx, r.client)
}

func (r *reconciler) tellOfDeletion(_ context.Context, m *api.Memcached) error {
	r.events.Event(m, event.Warning, "Deleting", "Delete", "%s is being deleted", m.Name)
	return nil
}

// deploymentOf is what the Deployment of a Memcached should be. child.Ensure adds the owner reference.
func deploymentOf(m *api.Memcached) *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": m.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: &m.Spec.Size,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "memcached", Image: "memcached:1.6", Command: []string{"memcached", "--memory-limit=64"},
					Ports: []corev1.ContainerPort{{Name: "memcached", ContainerPort: m.Spec.ContainerPort, Protocol: corev1.ProtocolTCP}},
				}}},
			},
		},
	}
}
