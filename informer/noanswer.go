package informer

import "github.com/flyball-io/flyball/object"

// Is reports whether target is object.ErrNoAnswer.
func (e *NotSyncedError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *UnavailableError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *SyncError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *NamespaceError) Is(target error) bool { return target == object.ErrNoAnswer }

// Is reports whether target is object.ErrNoAnswer.
func (e *TypeMismatchError) Is(target error) bool { return target == object.ErrNoAnswer }
