package reconcile

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/ctxkey"
	"github.com/flyball-io/flyball/object"
)

// Trigger is the kind of event that queued a request.
type Trigger uint8

const (
	// Listed: the object existed when the controller started.
	Listed Trigger = iota + 1
	// Created: the object is new.
	Created
	// Updated: the object changed.
	Updated
	// Deleted: the object was deleted.
	Deleted
	// Resynced: the period of a resync passed without a change.
	Resynced
	// Generic: an event from outside the cluster.
	Generic
	// Retried: a reconcile failed.
	Retried
	// Requeued: the Result of a reconcile asked for it.
	Requeued
)

func (t Trigger) String() string {
	switch t {
	case Listed:
		return "listed"
	case Created:
		return "created"
	case Updated:
		return "updated"
	case Deleted:
		return "deleted"
	case Resynced:
		return "resynced"
	case Generic:
		return "generic"
	case Retried:
		return "retried"
	case Requeued:
		return "requeued"
	}
	return "unknown"
}

// Cause is why a request is reconciled: the latest trigger, and the number of triggers that were merged while the
// request waited. It is for logs, events and metrics. A reconciler decides by the present state alone.
type Cause struct {
	Trigger Trigger
	// Kind, Key and ResourceVersion name the changed object; of a retry or a requeue, that of the reconcile
	// before. They are empty for a request without an object.
	Kind            schema.GroupVersionKind
	Key             object.Key
	ResourceVersion string
	// Count is the number of merged changes; of a retry or a requeue, the number of those. At least 1.
	Count int
}

// Merge is the cause of a request that was queued for c and then for later. Of two changes the later one stays, and
// both are counted. A change replaces a resync, a retry or a requeue, and a resync replaces a retry or a
// requeue, in either order; the replaced one is not counted.
func (c Cause) Merge(later Cause) Cause {
	switch was, is := c.rank(), later.rank(); {
	case was > is:
		return c
	case is > was:
		return later
	}
	later.Count += c.Count
	return later
}

// rank orders triggers by what replaces what: changes, then resyncs, then retries and requeues.
func (c Cause) rank() int {
	switch c.Trigger {
	case 0, Retried, Requeued:
		return 0
	case Resynced:
		return 1
	}
	return 2
}

// WithCause returns a context from which [CauseFrom] returns c, for tests of reconcilers.
func WithCause(ctx context.Context, c Cause) context.Context {
	return context.WithValue(ctx, ctxkey.Cause{}, c)
}

// CauseFrom returns the cause of the running reconcile, and the zero Cause outside of one.
func CauseFrom(ctx context.Context) Cause {
	c, _ := ctx.Value(ctxkey.Cause{}).(Cause)
	return c
}

// WithLogger returns a context from which [Logger] returns l, for tests of reconcilers.
func WithLogger(ctx context.Context, l *slog.Logger) context.Context {
	return context.WithValue(ctx, ctxkey.Logger{}, l)
}

// Logger returns the logger of the running reconcile. Its lines have the controller, the object and the attempt.
// Outside of a reconcile it discards all lines.
func Logger(ctx context.Context) *slog.Logger {
	if l, ok := ctx.Value(ctxkey.Logger{}).(*slog.Logger); ok {
		return l
	}
	return discard
}

var discard = slog.New(slog.DiscardHandler)
