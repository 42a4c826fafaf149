package controller

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// An error is logged once for each source. A server that is busy for a moment is not logged.
func TestErrorsOfSourcesAreLoggedOnce(t *testing.T) {
	busy, down := fmt.Errorf("list: %w", apierrors.NewTooManyRequests("storage is (re)initializing", 1)), errors.New("connection refused")
	check := func(name string, r reports, err error, checks int, want int) {
		t.Helper()
		got := 0
		for range checks {
			if r.due(name, err) {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: logged %d times in %d checks, want %d", name, got, checks, want)
		}
	}
	r := reports{}
	check("down", r, down, 1, 1)
	check("down", r, down, 100, 0)
	check("down", r, busy, 100, 0)
	check("busy for a moment", r, busy, busyChecks, 0)
	check("busy for a moment", r, down, 1, 1)
	check("busy for long", r, busy, busyChecks+1, 1)
	check("busy for long", r, busy, 100, 0)
}
