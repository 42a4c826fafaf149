package handler

import (
	"context"
	"errors"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// ErrNoGeneric says that a handler made by [Func] was given an event from outside the cluster.
var ErrNoGeneric = errors.New("the handler is a function of changes: it takes no event from outside the cluster")

// Func requests what f returns for a change. It is for functions that compare the old state with the
// new one: f is called once for each change, where the function of [Map] is called for each state. f
// reads the entries of the change and does not change them. A nil f makes a nil Handler. Errors are as
// for [Map].
//
// Events from outside the cluster are no changes: a Channel with such a handler is an [ErrNoGeneric].
func Func[R comparable](f func(ctx context.Context, c store.Change) ([]R, error)) Handler[R] {
	if f == nil {
		return nil
	}
	return ofChange[R]{f}
}

// ofChange implements Handler for Func.
type ofChange[R comparable] struct {
	f func(ctx context.Context, c store.Change) ([]R, error)
}

func (m ofChange[R]) Handle(ctx context.Context, c store.Change, add func(R)) error {
	requests, err := m.f(ctx, c)
	return addAll(requests, err, add)
}

// TakesChangesOnly marks the handler for controller.Channel, which refuses it.
func (ofChange[R]) TakesChangesOnly() {}

func (ofChange[R]) HandleGeneric(context.Context, object.Object, func(R)) error { return ErrNoGeneric }
