package controller

import "context"

type abortKey struct{}

// WithAbort returns a ctx to run runners under. When abort ends, a controller that runs under it
// has no grace any more: its running reconciles are cancelled at once, with the cause of abort as
// theirs, whether the controller was told to stop before or not. Managers use it for what must
// have a lease: abort ends when that is lost.
func WithAbort(ctx, abort context.Context) context.Context {
	return context.WithValue(ctx, abortKey{}, abort)
}

// aborted is the ctx that WithAbort put there, or one that never ends.
func aborted(ctx context.Context) context.Context {
	if abort, ok := ctx.Value(abortKey{}).(context.Context); ok {
		return abort
	}
	return context.Background()
}
