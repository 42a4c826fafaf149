package informer

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Options says what an Informer watches and how. They are read by New.
type Options struct {
	Kind Kind
	// Selection is what the feed was told to watch.
	Selection Selection
	// Scheme knows the Go types of typed kinds. Nil is fine for kinds without one.
	Scheme *runtime.Scheme
	// Transform changes each incoming version of an object before anyone sees it: once for each
	// version, on the applier's goroutine, never for an object that was found missing, whose last
	// state went through it already. The object is of the kind's Go type, or unstructured if it
	// has none. If it fails or panics the object is set aside. Nil: none.
	Transform func(object.Object) error
	// StripManagedFields drops metadata.managedFields from every object, from the bytes, at
	// nearly no cost.
	StripManagedFields bool
	// Resync is the period of a handler that does not name its own. Zero or negative: never.
	Resync time.Duration
	// OnProblem is told of each version that is set aside (*AsideError), and of each panic of a
	// source or handler (*PanicError), beside the log. It may be called from several goroutines,
	// and must not block. Nil: none.
	OnProblem func(error)
	// Logger is where a person is told. Nil: slog.Default().
	Logger *slog.Logger
}

// State is where an informer stands. It is a copy.
type State struct {
	// Running is set from Run until it returns, Stopped after that.
	Running, Stopped bool
	// Synced is set once the first full list is in the store, and stays.
	Synced bool
	// Err is what keeps the watch from working at present, if anything does.
	Err error
	// SetAside is the number of objects that cannot be used at present.
	SetAside int
}

func (s State) String() string {
	text := "not started"
	switch {
	case s.Stopped:
		text = "stopped"
	case s.Running && s.Synced:
		text = "synced"
	case s.Running:
		text = "listing"
	}
	if s.Err != nil {
		text += ": " + s.Err.Error()
	}
	return text
}

// Informer keeps one selection of one kind in a store and tells those who registered what
// changes. It runs once. All methods may be called from any goroutine.
type Informer struct {
	o Options
}

// Kind is what the informer watches.
func (in *Informer) Kind() Kind { return in.o.Kind }

// Selection is the part of the kind that the informer watches.
func (in *Informer) Selection() Selection { return in.o.Selection }

// Run watches until ctx ends, and returns when every goroutine of the informer has ended, with
// the cause. A callback that is running then is waited for, however long it takes. A second call
// returns ErrRunTwice.
func (in *Informer) Run(ctx context.Context) error { panic("soon") }

// State says where the informer stands.
func (in *Informer) State() State { panic("soon") }

// Synced is closed when the first full list is in the store.
func (in *Informer) Synced() <-chan struct{} { panic("soon") }

// HasSynced reports whether Synced is closed.
func (in *Informer) HasSynced() bool { panic("soon") }

// SetAside lists the objects that cannot be used at present, in the order of their keys.
func (in *Informer) SetAside() []*AsideError { panic("soon") }

// Subscribe adds a source: a function that is called on the applier's goroutine for every
// change, none merged, after the store has it. It must not block; what it may do is look at
// headers, decode if it must, and put something into a queue. A panic in it is isolated and
// reported.
//
// Added while the informer runs, it is first given an Initial add for everything in the store,
// on the same goroutine, so that nothing is missed or seen twice. After the informer stopped it
// is ErrStopped.
func (in *Informer) Subscribe(name string, call func(store.Change)) (*Registration, error) {
	panic("soon")
}

func (in *Informer) forget(*Registration)                              {}
func (in *Informer) panicked(_ *Registration, _ store.Change, _ error) {}
