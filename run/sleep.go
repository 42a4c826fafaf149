package run

import (
	"context"
	"time"
)

// Sleep returns nil after d, at once if d is zero or negative, or the cause of ctx if that has
// ended or ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil || d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
