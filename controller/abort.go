package controller

import "context"

type abortKey struct{}

// WithAbort returns a ctx for the Run of controllers. When abort ends, the running reconciles are cancelled at
// once with the cause of abort, also within a grace period that has begun. Managers end abort when the lease
// is lost.
func WithAbort(ctx, abort context.Context) context.Context {
	return context.WithValue(ctx, abortKey{}, abort)
}

// aborted is the abort of [WithAbort], or a context that never ends.
func aborted(ctx context.Context) context.Context {
	if abort, ok := ctx.Value(abortKey{}).(context.Context); ok {
		return abort
	}
	return context.Background()
}
