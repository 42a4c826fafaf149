//go:build !linux

package main

import "context"

// endWithGoRun does nothing: only Linux notifies a process of its parent's end.
func endWithGoRun(ctx context.Context) (context.Context, context.CancelFunc) {
	return ctx, func() {}
}
