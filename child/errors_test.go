package child_test

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
)

func TestIsTakenTellsStrangersFromLeftovers(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"controlled by nobody":            {&child.TakenError{}, true},
		"controlled by another":           {&child.TakenError{By: &metav1.OwnerReference{}}, true},
		"wrapped":                         {fmt.Errorf("child: %w", &child.TakenError{By: &metav1.OwnerReference{}}), true},
		"joined":                          {errors.Join(errors.New("no"), &child.TakenError{}), true},
		"left by an earlier owner":        {&child.TakenError{By: &metav1.OwnerReference{}, Earlier: true}, false},
		"changed by somebody":             {&client.ConflictError{}, false},
		"deleted, and perhaps made again": {child.ErrReplaced, false},
		"none":                            {nil, false},
	} {
		if got := child.IsTaken(tc.err); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
