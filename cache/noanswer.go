package cache

import "github.com/flyball-io/flyball/object"

// Is reports whether target is object.ErrNoAnswer.
func (e *UndeclaredError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *UnsupportedError) Is(target error) bool { return target == object.ErrNoAnswer }
