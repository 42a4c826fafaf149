package client

import "github.com/flyball-io/flyball/object"

// The errors below say nothing about objects: see [object.ErrNoAnswer]. A ForbiddenError is among them
// because it says that this program may not ask.

// Is reports whether target is object.ErrNoAnswer.
func (e *ForbiddenError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *UnauthorizedError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *TooManyRequestsError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *GoneError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *TimeoutError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *UnavailableError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *InternalError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *ResponseError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *NotServedError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *FencedError) Is(target error) bool { return target == object.ErrNoAnswer }
