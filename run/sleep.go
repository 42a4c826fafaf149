package run

import (
	"context"
	"time"
)

// Sleep waits for d and returns nil, at once if d is zero or negative. If ctx has ended or ends
// first, it returns the cause of ctx.
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
