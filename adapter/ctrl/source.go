package ctrl

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
)

// Source makes a source of controller-runtime one of Flyball: source.Kind and source.Informer over [NewCache],
// source.Channel and source.Func.
//
// It starts with the controller, and again if its Start returns an error. Workers do not wait for it. A
// source.Channel works for one run of the manager only. Where [Watches] can do the same it does more: workers
// wait for the existing objects, standbys keep them, and a failed handler is called again.
func Source(s source.Source) controller.Source[reconcile.Request] { return sourceOf(s, asKey) }

// TypedSource is [Source] for requests of another type.
func TypedSource[R comparable](s source.TypedSource[R]) controller.Source[R] {
	return sourceOf(s, same[R])
}

func sourceOf[C, R comparable](s source.TypedSource[C], request func(C) R) controller.Source[R] {
	if s == nil {
		return controller.Requests[R](nil) // the controller refuses it
	}
	return controller.Requests(func(ctx context.Context, add func(R)) error {
		q := newQueue(ctx, request, reconcile.Cause{Trigger: reconcile.Generic, Count: 1}, add)
		if err := s.Start(ctx, q); err != nil {
			return err
		}
		if w, ok := s.(source.TypedSyncingSource[C]); ok {
			if err := w.WaitForSync(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	})
}
