package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flyball-io/flyball/examples/migrating/memcached/api"
)

const cleanup = "cache.example.com/cleanup"

type reconciler struct {
	client.Client
	scheme *runtime.Scheme
	events events.EventRecorder
}

func (r *reconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("memcached").
		For(&api.Memcached{}).
		Owns(&appsv1.Deployment{}).
		Complete(r)
}

// Reconcile makes the servers of one Memcached what they should be.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &api.Memcached{}
	if err := r.Get(ctx, req.NamespacedName, m); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !m.DeletionTimestamp.IsZero() {
		if !controllerutil.ContainsFinalizer(m, cleanup) {
			return ctrl.Result{}, nil
		}
		r.events.Eventf(m, nil, corev1.EventTypeWarning, "Deleting", "Delete", "%s is being deleted", m.Name)
		controllerutil.RemoveFinalizer(m, cleanup)
		return ctrl.Result{}, r.Update(ctx, m)
	}
	if controllerutil.AddFinalizer(m, cleanup) {
		if err := r.Update(ctx, m); err != nil {
			return ctrl.Result{}, err
		}
	}

	d := &appsv1.Deployment{}
	err := r.Get(ctx, req.NamespacedName, d)
	switch {
	case apierrors.IsNotFound(err):
		d = deploymentOf(m)
		if err := ctrl.SetControllerReference(m, d, r.scheme); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, d); err != nil {
			return ctrl.Result{}, err
		}
	case err != nil:
		return ctrl.Result{}, err
	case *d.Spec.Replicas != m.Spec.Size:
		d.Spec.Replicas = &m.Spec.Size
		if err := r.Update(ctx, d); err != nil {
			return ctrl.Result{}, err
		}
	}

	available := metav1.Condition{Type: "Available", Status: metav1.ConditionFalse, Reason: "Starting",
		Message: fmt.Sprintf("%d of %d servers are ready", d.Status.ReadyReplicas, m.Spec.Size), ObservedGeneration: m.Generation}
	if d.Status.ReadyReplicas == m.Spec.Size {
		available.Status, available.Reason = metav1.ConditionTrue, "Started"
	}
	if meta.SetStatusCondition(&m.Status.Conditions, available) {
		return ctrl.Result{}, r.Status().Update(ctx, m)
	}
	return ctrl.Result{}, nil
}

// deploymentOf is what the Deployment of a Memcached should be.
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
					Ports: []corev1.ContainerPort{{Name: "memcached", ContainerPort: m.Spec.ContainerPort}},
				}}},
			},
		},
	}
}
