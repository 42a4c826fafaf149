package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/examples/migrating/cronjob/api"
	"github.com/flyball-io/flyball/examples/migrating/cronjob/plan"
)

// byOwner is the index of Jobs by the name of their CronJob.
const byOwner = ".metadata.controller"

type reconciler struct {
	client.Client
	scheme *runtime.Scheme
}

func (r *reconciler) setup(mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &batchv1.Job{}, byOwner, func(o client.Object) []string {
		owner := metav1.GetControllerOf(o)
		if owner == nil || owner.APIVersion != api.GroupVersion.String() || owner.Kind != "CronJob" {
			return nil
		}
		return []string{owner.Name}
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("cronjob").
		For(&api.CronJob{}).
		Owns(&batchv1.Job{}).
		Complete(r)
}

// Reconcile does what is due for one CronJob.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	log := ctrl.LoggerFrom(ctx)
	c := &api.CronJob{}
	if err := r.Get(ctx, req.NamespacedName, c); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var list batchv1.JobList
	if err := r.List(ctx, &list, client.InNamespace(req.Namespace), client.MatchingFields{byOwner: req.Name}); err != nil {
		return ctrl.Result{}, err
	}
	jobs := make([]*batchv1.Job, len(list.Items))
	for i := range list.Items {
		jobs[i] = &list.Items[i]
	}
	p, err := plan.Of(c, jobs, time.Now())
	if err != nil {
		log.Error(err, "the schedule cannot be read") // it is tried again when somebody corrects it
		return ctrl.Result{}, nil
	}

	for _, j := range p.Excess {
		if err := r.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
	}
	if !p.Due.IsZero() {
		if c.Spec.ConcurrencyPolicy == api.ReplaceConcurrent {
			for _, j := range p.Active {
				if err := r.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
					return ctrl.Result{}, err
				}
			}
		}
		j := plan.Job(c, p.Due)
		if err := ctrl.SetControllerReference(c, j, r.scheme); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, j); err != nil && !apierrors.IsAlreadyExists(err) { // the cache may not show it yet
			return ctrl.Result{}, fmt.Errorf("create the Job: %w", err)
		}
		log.Info("a Job was made", "job", j.Name)
		p.Last = p.Due
	}
	if status := p.Status(); !equality.Semantic.DeepEqual(c.Status, status) {
		c.Status = status
		if err := r.Status().Update(ctx, c); err != nil {
			return ctrl.Result{}, err
		}
	}
	if p.Next.IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: time.Until(p.Next)}, nil
}
