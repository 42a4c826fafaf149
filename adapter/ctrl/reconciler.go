package ctrl

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flyball-io/flyball/reconcile"
)

// Reconciler makes a reconciler of controller-runtime one of Flyball:
//
//	controller.New(mgr, "website", ctrl.Reconciler(r), ctrl.For[webv1.Website]())
//
// Its Result means what it means there: RequeueAfter, Requeue with backoff, and the Priority of what follows.
// reconcile.TerminalError ends the retries. A panic is recovered from, and counts as an error.
// log.FromContext returns the logger of the attempt.
//
// A nil r makes a nil reconciler, which controller.New refuses.
func Reconciler(r crreconcile.Reconciler) reconcile.Reconciler[reconcile.Request] {
	if r == nil {
		return nil
	}
	typed := TypedReconciler(r)
	return func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		return typed(ctx, crreconcile.Request{NamespacedName: types.NamespacedName(req)})
	}
}

// TypedReconciler is [Reconciler] for requests of another type.
func TypedReconciler[R comparable](r crreconcile.TypedReconciler[R]) reconcile.Reconciler[R] {
	if r == nil {
		return nil
	}
	return func(ctx context.Context, req R) (reconcile.Result, error) {
		result, err := r.Reconcile(withLogger(ctx), req)
		if errors.Is(err, crreconcile.TerminalError(nil)) {
			err = reconcile.Terminal(err)
		}
		//lint:ignore SA1019 programs still use Requeue
		return reconcile.Result{RequeueAfter: result.RequeueAfter, Requeue: result.Requeue, Priority: result.Priority}, err
	}
}

// asRequest and asKey convert between the requests of both sides.
func asKey(r crreconcile.Request) reconcile.Request { return reconcile.Request(r.NamespacedName) }

func same[R any](r R) R { return r }
