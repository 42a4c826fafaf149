package reconcile

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

// Trigger says what kind of event put a request into the queue.
type Trigger uint8

const (
	// Listed is an object that was there when the controller started.
	Listed Trigger = iota + 1
	// Created is an object that appeared.
	Created
	// Updated is an object that changed.
	Updated
	// Deleted is an object that went.
	Deleted
	// Resynced is a repeated look at an object that did not change.
	Resynced
	// Generic is an event from outside the cluster.
	Generic
	// Retried is another attempt after an error.
	Retried
	// Requeued is another look that the reconciler itself asked for.
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

// Cause is why a request is reconciled: the latest of the triggers that were merged into it while
// it waited, and how many there were. It is for logs, events and metrics; what to do follows from
// the present state alone.
type Cause struct {
	Trigger Trigger
	// Kind, Key and ResourceVersion name the object whose change it was; for a retry or a requeue,
	// that of the run before. They are empty where no object is behind it.
	Kind            schema.GroupVersionKind
	Key             object.Key
	ResourceVersion string
	// Count is how many changes this run answers; of a retry or a requeue, how many of those. At
	// least 1.
	Count int
}

// Merge is the cause of a request that was queued for c and then again for later. Of two changes
// the later one stays, and both count. A change takes the place of a resync, a retry or a requeue,
// which would have come anyway and does not count beside it; and so does a resync of the other two.
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

// rank tells what happened from what is only due.
func (c Cause) rank() int {
	switch c.Trigger {
	case 0, Retried, Requeued:
		return 0
	case Resynced:
		return 1
	}
	return 2
}

type (
	causeKey  struct{}
	loggerKey struct{}
)

// WithCause returns a context from which [CauseFrom] reads c. Controllers call it.
func WithCause(ctx context.Context, c Cause) context.Context {
	return context.WithValue(ctx, causeKey{}, c)
}

// CauseFrom returns why the running reconcile was started. It is the zero Cause outside one.
func CauseFrom(ctx context.Context) Cause {
	c, _ := ctx.Value(causeKey{}).(Cause)
	return c
}

// WithLogger returns a context from which [Logger] reads l. Controllers call it.
func WithLogger(ctx context.Context, l *slog.Logger) context.Context {
	return context.WithValue(ctx, loggerKey{}, l)
}

// Info is what a reconcile may know of itself. It may be asked by several goroutines at once.
type Info interface {
	Cause() Cause
	// Logger is not nil.
	Logger() *slog.Logger
}

// WithInfo returns a context from which [CauseFrom] and [Logger] read what i says, which is asked
// when they are. Controllers call it.
func WithInfo(ctx context.Context, i Info) context.Context { return infoContext{ctx, i} }

type infoContext struct {
	context.Context
	info Info
}

// Value implements context.Context.
func (c infoContext) Value(key any) any {
	switch key.(type) {
	case causeKey:
		return c.info.Cause()
	case loggerKey:
		return c.info.Logger()
	}
	return c.Context.Value(key)
}

// Logger returns the logger of the running reconcile, which says controller, object and attempt
// with each line. Outside one it discards what it is given.
func Logger(ctx context.Context) *slog.Logger {
	if l, ok := ctx.Value(loggerKey{}).(*slog.Logger); ok {
		return l
	}
	return discard
}

var discard = slog.New(slog.DiscardHandler)
