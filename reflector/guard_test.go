package reflector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A timer that fires while the next request is being opened must not end that one.
func TestGuardEndsItsOwnRequestOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, cancelFirst := context.WithCancelCause(t.Context())
		second, cancelSecond := context.WithCancelCause(t.Context())
		g := guard{cancel: cancelFirst}
		g.set(time.Now().Add(time.Second))
		g = guard{cancel: cancelSecond}
		time.Sleep(2 * time.Second)
		if context.Cause(first) != errTimer || second.Err() != nil {
			t.Fatalf("first ended by %v, second by %v", context.Cause(first), context.Cause(second))
		}
		g.stop()
	})
}
