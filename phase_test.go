package flyball

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/life"
)

func TestBoundsAreResolved(t *testing.T) {
	const s = time.Second
	for name, tc := range map[string]struct {
		b     Bounds
		grace time.Duration
		want  [life.Phases]time.Duration
	}{
		"defaults": {Bounds{}, 30 * s, [life.Phases]time.Duration{Serve: 20 * s, Sync: 15 * s, Always: 45 * s, Lead: 45 * s}},
		"own":      {Bounds{1 * s, 2 * s, 3 * s, 4 * s}, 0, [life.Phases]time.Duration{Serve: 4 * s, Sync: 3 * s, Always: 2 * s, Lead: 1 * s}},
		"none":     {Bounds{-1, -1, -1, -1}, 0, [life.Phases]time.Duration{}},
	} {
		if got := tc.b.resolved(tc.grace); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestPhasesAreThoseOfLife(t *testing.T) {
	if got, want := []Phase{Serve, Sync, Always, Lead}, []Phase{Phase(life.Serve), Phase(life.Sync), Phase(life.Always), Phase(life.Lead)}; !slices.Equal(got, want) || len(got) != life.Phases {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestEndsInGoodOrder(t *testing.T) {
	for cause, want := range map[error]bool{
		context.Canceled: true, &SignalError{syscall.SIGTERM}: true,
		context.DeadlineExceeded: false, errors.New("broken"): false, life.ErrClosed: false,
	} {
		if inOrder(cause) != want {
			t.Errorf("%v: want %v", cause, want)
		}
	}
}
