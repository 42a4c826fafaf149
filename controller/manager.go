package controller

import (
	"context"
	"io"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Manager is what a controller needs of the program it is part of. *flyball.Manager is one.
type Manager interface {
	// Scheme knows the Go types of the kinds that are watched.
	Scheme() *runtime.Scheme
	// Mapper tells whether a kind has namespaces. It may ask the server.
	Mapper() meta.RESTMapper
	// Logger is where controllers log that have none of their own.
	Logger() *slog.Logger
	// GracePeriod is how long running reconciles may go on after Run was told to stop. Zero: they
	// are cancelled at once.
	GracePeriod() time.Duration
	// Subscribe calls fn with every change of a kind, after the cache shows it, one call after
	// another. What exists already is handed over first, marked as initial. proto names the kind
	// by its Go type or, if it has one, by its own apiVersion and kind.
	Subscribe(ctx context.Context, proto object.Object, name string, fn func(store.Change)) (Subscription, error)
	// Add has r run whenever the manager runs, from now on if it does already. The name must be
	// free. Closing what it returns ends r, waits for that, and makes the name free again.
	Add(name string, r Runner) (io.Closer, error)
}

// Instrumented is a [Manager] that wants to know what its controllers do, for metrics. [New] asks
// it for hooks, which are called beside those of the options, before them.
type Instrumented interface {
	ControllerHooks(name string, workers int) Hooks
}

// Resyncing is a [Manager] that has a period for controllers that do not name their own; see
// Options.Resync.
type Resyncing interface {
	ResyncPeriod() time.Duration
}

// Resyncable is a [Subscription] that can show every object again, once in each period and spread
// over it, as a change with Resync set.
type Resyncable interface {
	ResyncEvery(period time.Duration)
}

// Runner is something with a life of its own. Run works until ctx ends and returns when every
// goroutine it started has ended; nil when ctx was the reason. It may be called again afterwards.
type Runner interface {
	Run(ctx context.Context) error
}

// Subscription is a watch that a controller holds open.
type Subscription interface {
	// Synced is closed when fn has returned for everything that existed at the start.
	Synced() <-chan struct{}
	// Err is what keeps the watch from working at present, nil if nothing is known to.
	Err() error
	// Close ends the calls and returns after the last one has. Closing twice is fine.
	Close()
}
