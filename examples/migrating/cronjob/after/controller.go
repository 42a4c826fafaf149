package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"

	"github.com/flyball-io/flyball/examples/migrating/cronjob/api"
	"github.com/flyball-io/flyball/examples/migrating/cronjob/plan"
)

type reconciler struct {
	client client.Client
	live   *client.Live // the server, and not the cache
}

func (r *reconciler) setup(mgr *flyball.Manager) error {
	_, err := controller.New(mgr, "cronjob", r.reconcile,
		controller.For[api.CronJob](),
		controller.Owns[batchv1.Job]())
	return err
}

// reconcile does what is due for one CronJob.
func (r *reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c, err := client.Get[api.CronJob](ctx, r.client, req)
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var jobs []*batchv1.Job
	for j, err := range client.List[batchv1.Job](ctx, r.client, client.InNamespace(req.Namespace), client.OwnedBy(c.UID)) {
		if err != nil {
			return reconcile.Result{}, err
		}
		jobs = append(jobs, j)
	}
	p, err := plan.Of(c, jobs, time.Now())
	if err != nil {
		return reconcile.Result{}, reconcile.Terminal(err) // it is tried again when somebody corrects it
	}

	background := client.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	for _, j := range p.Excess {
		if err := client.Delete(ctx, r.client, j, background); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, err
		}
	}
	if !p.Due.IsZero() {
		// A Job that has run may have gone, which a cache that is behind does not show. Then an event follows.
		if now, err := client.Get[api.CronJob](ctx, r.live, req); err != nil || now.ResourceVersion != c.ResourceVersion {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		if c.Spec.ConcurrencyPolicy == api.ReplaceConcurrent {
			for _, j := range p.Active {
				if err := client.Delete(ctx, r.client, j, background); client.IgnoreNotFound(err) != nil {
					return reconcile.Result{}, err
				}
			}
		}
		j, did, err := child.Ensure(ctx, r.client, c, plan.Job(c, p.Due)) // once, whatever the cache shows
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("create the Job: %w", err)
		}
		reconcile.Logger(ctx).Info("a Job was made", "job", j.Name, "change", did)
		p.Last = p.Due
	}
	before := c.DeepCopy()
	c.Status = p.Status()
	if _, err := client.PatchStatusIfChanged(ctx, r.client, before, c); err != nil {
		return reconcile.Result{}, err
	}
	if p.Next.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: time.Until(p.Next)}, nil
}
