package child_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
)

func TestIsTakenTellsStrangersFromLeftovers(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"controlled by nobody":            {&child.UnownedError{}, true},
		"controlled by another":           {&child.OwnedError{}, true},
		"wrapped":                         {fmt.Errorf("child: %w", &child.OwnedError{}), true},
		"joined":                          {errors.Join(errors.New("no"), &child.UnownedError{}), true},
		"left by an earlier owner":        {&child.OwnedError{Earlier: true}, false},
		"changed by somebody":             {&client.ConflictError{}, false},
		"deleted, and perhaps made again": {child.ErrReplaced, false},
		"none":                            {nil, false},
	} {
		if got := child.IsTaken(tc.err); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
