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
	"github.com/flyball-io/flyball/workqueue"
)

// Manager is all that a controller uses of its program. *flyball.Manager implements it. Controllers
// look for no methods beyond these. All methods may be called from any goroutine.
type Manager interface {
	// Scheme knows the Go types of the watched kinds.
	Scheme() *runtime.Scheme
	// Mapper tells whether a kind has namespaces. It may ask the server.
	Mapper() meta.RESTMapper
	// Logger is the base of the logs of controllers without a logger of their own.
	Logger() *slog.Logger
	// GracePeriod is how long running reconciles may go on after the controller was told to stop.
	// It is read at that time. Zero: they are cancelled at once.
	GracePeriod() time.Duration
	// ResyncPeriod is the default of Options.Resync. Zero or negative: no resync.
	ResyncPeriod() time.Duration
	// ControllerHooks returns hooks for a controller of this name, for metrics. They are called
	// before those of Options.Hooks. workers is how many reconciles may run at once. The zero Hooks
	// observe nothing.
	ControllerHooks(name string, workers int) Hooks
	// Subscribe calls fn with every change of a kind, one call after another. The cache shows the
	// change before the call. Existing objects come first, marked as initial. proto names the kind
	// by its Go type, or by its apiVersion and kind where it has no Go type. name is for logs.
	Subscribe(ctx context.Context, proto object.Object, name string, fn func(store.Change)) (Subscription, error)
	// AddController runs c whenever the manager runs, and at once if it runs already. The name of c
	// must be free. Closing the result stops c, waits until its Run has returned, and frees the name.
	AddController(c Interface) (io.Closer, error)
}

// Interface is all that a [Manager] uses of a controller. A *[Controller] of any request type
// implements it. All methods may be called from any goroutine, before and after Run too.
type Interface interface {
	// Name is unique in the manager.
	Name() string
	// Run works until ctx ends. It returns when all its goroutines have ended; see [Controller.Run].
	Run(ctx context.Context) error
	// EveryReplica reports whether the controller runs on every replica, and not on the leader alone.
	EveryReplica() bool
	// Kinds are the kinds watched in the cluster of a manager, each once; nil stands for the manager of
	// the controller. A standby keeps them in its caches.
	Kinds(in Manager) []object.Object
	// OptionalKinds are those of Kinds that the server may not serve; see [Source.Optional].
	OptionalKinds(in Manager) []object.Object
	// State is for readiness.
	State() State
	// QueueStats, QueueDepths, SourceFailures and Reconciles are for metrics and debug pages.
	QueueStats() workqueue.Stats
	QueueDepths() []workqueue.Depth
	SourceFailures() []SourceFailure
	Reconciles() Reconciles
}

// Subscription is a watch that a controller holds open.
type Subscription interface {
	// Synced is closed when fn has returned for everything that existed at the start.
	Synced() <-chan struct{}
	// Waiting has the watches for which Synced waits, by namespace; a watch of all namespaces has an empty one. The
	// error is the known cause that keeps the watch from working at present, or nil. of is the number of all
	// watches.
	Waiting() (watches map[string]error, of int)
	// ResyncEvery shows every object again once in each period, spread over it, as a change with
	// Resync set.
	ResyncEvery(period time.Duration)
	// Resync shows every object of the watches that have synced once more, and soon, as a change with Resync set.
	Resync()
	// Close ends the calls of fn and returns after the last one has returned. Closing twice is fine.
	Close()
}
