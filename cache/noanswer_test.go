package cache_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// TestErrorsTellWhetherTheCacheCouldAnswer: the error of a read tells whether the cache could
// answer.
func TestErrorsTellWhetherTheCacheCouldAnswer(t *testing.T) {
	for _, tt := range []struct {
		err      error
		noAnswer bool
	}{
		{&informer.NotSyncedError{}, true},
		{&informer.SyncError{Cause: errors.New("late")}, true},
		{&informer.NamespaceError{}, true},
		{&informer.TypeMismatchError{}, true},
		{&cache.UndeclaredError{}, true},
		{&cache.UnsupportedError{}, true},
		{&store.RejectedError{Err: errors.New("no JSON")}, true},
		{&store.UnknownIndexError{}, true},
		{&object.UnknownKindError{Err: errors.New("no type")}, true},
		{&client.ForbiddenError{}, true},
		{&client.GoneError{}, true},
		{&client.NotFoundError{}, false},
		{&client.ConflictError{}, false},
		{&client.AlreadyExistsError{}, false},
		{&client.InvalidError{}, false},
		{&client.RejectedError{}, false},
		{&client.ArgumentError{}, false},
	} {
		if got := errors.Is(fmt.Errorf("read: %w", tt.err), object.ErrNoAnswer); got != tt.noAnswer {
			t.Errorf("%T: no answer %v, want %v", tt.err, got, tt.noAnswer)
		}
	}
}
