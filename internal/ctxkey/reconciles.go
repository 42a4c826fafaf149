package ctxkey

import "context"

// Reconciler is told that a controller starts. It returns what is called when the controller begins to reconcile a
// request, and that what is called at the end. A simulation has one.
type Reconciler func(controller string) (begin func(request any) (end func()))

// reconciler is the key of a Reconciler.
type reconciler struct{}

// WithReconciles returns a context in which controllers tell of their reconciles.
func WithReconciles(ctx context.Context, r Reconciler) context.Context {
	return context.WithValue(ctx, reconciler{}, r)
}

// Reconciles returns what a controller calls for each reconcile; nil outside of a simulation.
func Reconciles(ctx context.Context, controller string) (begin func(request any) (end func())) {
	if r, ok := ctx.Value(reconciler{}).(Reconciler); ok {
		return r(controller)
	}
	return nil
}
