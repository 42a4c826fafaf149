package client

import "github.com/flyball-io/flyball/object"

// The errors below say nothing about objects: see [object.ErrNoAnswer]. A Forbidden is one of them: it
// is this program that may not ask.

// Is reports whether target is object.ErrNoAnswer.
func (e *Forbidden) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *Unauthorized) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *TooManyRequests) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *Gone) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *Timeout) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *Unavailable) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *Broken) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *BadAnswer) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *NotServed) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *UnknownKind) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *Fenced) Is(target error) bool { return target == object.ErrNoAnswer }
