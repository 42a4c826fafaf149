package informer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Options says what an Informer watches and how. They are read by New.
type Options struct {
	Kind Kind
	// Selection is what the feed was told to watch.
	Selection client.Selection
	// Scheme knows the Go types of typed kinds. Nil is fine for kinds without one.
	Scheme *runtime.Scheme
	// Indexes are there from the start, by their names; see AddIndex for others. Nil: none.
	Indexes map[string]store.Indexer
	// Transform changes each incoming version of an object before it is stored: once for each version,
	// and again if the server shows that version in another way. Calls do not overlap. The object has the
	// Go type of the kind, or is unstructured if there is none. If Transform fails or panics, the object
	// is rejected. Nil: none.
	//
	// It must be quick. Reads and the watch go on while it runs, but no later change of the kind becomes
	// visible. A call that has run for a second is reported; see OnProblem.
	Transform func(object.Object) error
	// KeepManagedFields keeps metadata.managedFields. By default they are cut from the bytes of
	// every object as it arrives, before the transform: they are half of most objects, and few
	// programs look at them. Writing an object without them leaves those on the server as they are.
	// Where Reflector has an Intake of one's own, that decides.
	KeepManagedFields bool
	// GoHeap is store.Options.GoHeap: it keeps the objects in the Go heap.
	GoHeap bool
	// Budget is how much memory this informer, and others with the same one, should hold. It bounds
	// nothing, and what is over it is told. Nil: none.
	Budget *Budget
	// Resync is the period of a handler that does not name its own. Zero or negative: never.
	Resync time.Duration
	// Audit is the approximate interval of audits; each begins after three quarters of it to the whole. An
	// audit lists the metadata of all objects, and compares it with the held objects. If two such lists
	// show an event that the watch has lost, the kind is listed again; see Figures, the log and
	// State.Watch.Relists. Zero: 6 h. Negative: never. Less than a second counts as one. A Source without
	// ListMetadata is never audited. A server that does not list metadata is asked again after four
	// periods.
	//
	// An audit of 100,000 Pods takes 23 MB over the wire, about 2 s of CPU and at most 32 MB of memory, in
	// nine seconds. One of 10,000 takes a tenth of that, and 9 MB of memory. See
	// docs/adr/0022-audit.md and bench/audit.
	Audit time.Duration
	// AuditLimiter spreads the lists of audits of those who share it; a Factory has one for all of its
	// informers. Nil: no limit.
	AuditLimiter *reflector.Limiter
	// OnProblem is called with what a person should look at, beside the log; see Problem. It is called once
	// for each rejected version of an object. An index function, transform or source that has run for a
	// second is an *OverdueError. Calls may overlap, and must not block. Nil: none.
	OnProblem func(Problem)
	// Reflector tunes the list and watch. Its Resource is set from Kind if it is empty.
	Reflector reflector.Options
	// Logger is where a person is told. Nil: slog.Default().
	Logger *slog.Logger
}

// Informer keeps one selection of one kind in a store and tells those who registered what
// changes. It runs once. All methods may be called from any goroutine.
type Informer struct {
	o       Options
	log     *slog.Logger
	watch   *reflector.Reflector
	applier *applier
	store   *store.Store
	avail   availability
	audits  *auditor
	spare   spare
	synced  chan struct{}
	done    chan struct{} // closed when phase becomes stopped
	woken   chan struct{} // one token: the applier has something to do

	mu       sync.Mutex
	phase    phase
	group    *run.Group
	ctx      context.Context // of the group
	regs     []*Registration // replaced, never changed in place
	joining  []*Registration // added while running; the applier takes them over
	rejected map[object.Key]*rejected

	namespace string // the only one that is watched; empty: all

	slow slowLog
	// readAhead says that the watch is read beside the applier, since functions may hold that up.
	readAhead atomic.Bool
	// unreported says that an index has set objects aside, which the next commit tells.
	unreported atomic.Bool

	weight int64 // of the store, as it counts in the budget; it belongs to the applier
}

// phase is where the life of an Informer stands.
type phase uint8

const (
	idle phase = iota
	running
	stopped
)

// New returns an informer that watches source once it is run. It starts nothing.
func New(source reflector.Source, o Options) (*Informer, error) {
	switch {
	case source == nil:
		return nil, &option.Error{Of: "informer.New", Field: "source", Err: errors.New("is nil")}
	case o.Kind.GVK.Kind == "":
		return nil, &option.Error{Of: "informer.Options", Field: "Kind", Err: errors.New("has no kind")}
	}
	in := &Informer{
		o:        o,
		log:      o.Logger,
		woken:    make(chan struct{}, 1),
		synced:   make(chan struct{}),
		done:     make(chan struct{}),
		rejected: make(map[object.Key]*rejected),
		slow:     slowLog{quiet: backoff.Bucket{Rate: 1.0 / 60, Burst: 5}},
	}
	so := store.Options{
		Resource: o.Kind.Resource.GroupResource(), ClusterScoped: o.Kind.ClusterScoped, GoHeap: o.GoHeap,
		OnOverdue: func(index string, key object.Key, began time.Time) {
			in.overdue(slowCall{partIndex, index, key}, began)
		},
		OnAside: in.reportAsides,
	}
	in.applier = newApplier(in)
	in.readAhead.Store(o.Transform != nil)
	in.log = logguard.Logger(in.log)
	in.log = in.log.With("kind", o.Kind.GVK.Kind)
	if o.Reflector.Resource == "" {
		o.Reflector.Resource = o.Kind.Resource.GroupResource().String()
	}
	if !o.Kind.ClusterScoped && o.Reflector.Namespace == "" {
		o.Reflector.Namespace = o.Selection.Namespace
	}
	in.namespace = o.Reflector.Namespace
	if !o.KeepManagedFields && o.Reflector.Intake == nil {
		// Bytes that were packed are used again for what comes, so that a list makes little garbage.
		o.Reflector.Intake = func(raw wire.Raw) *store.Entry {
			return reflector.NewEntry(wire.CutManagedFields(in.spare.take(), raw))
		}
		so.Recycle = in.spare.give
	}
	in.store = store.New(so)
	if o.Reflector.Logger == nil {
		o.Reflector.Logger = in.log
	}
	for name, f := range o.Indexes {
		if err := in.addIndex(name, f); err != nil {
			return nil, &option.Error{Of: "informer.Options", Field: "Indexes", Err: err}
		}
	}
	tell := o.Reflector.OnState
	o.Reflector.OnState = func(s reflector.State) {
		in.avail.note(in, s)
		if tell != nil {
			in.hook("OnState", func() { tell(s) })
		}
	}
	watch, err := reflector.New(source, in.applier, o.Reflector)
	if err != nil {
		return nil, fmt.Errorf("informer: %w", err)
	}
	in.watch, in.audits = watch, newAuditor(in, source)
	return in, nil
}

// Kind is what the informer watches.
func (in *Informer) Kind() Kind { return in.o.Kind }

// Selection is the part of the kind that the informer watches.
func (in *Informer) Selection() client.Selection { return in.o.Selection }

// Run watches until ctx ends, and returns when every goroutine of the informer has ended, with
// the cause. A callback or index function that is running then is waited for, however long it takes; what waits in
// backlogs is dropped. A second call is a run.ErrRunning. Once stopped, reads go on answering from
// the last state.
func (in *Informer) Run(ctx context.Context) error {
	in.mu.Lock()
	if in.phase != idle {
		in.mu.Unlock()
		return fmt.Errorf("informer of %s: %w, or has run before", in.o.Kind.GVK.Kind, run.ErrRunning)
	}
	in.phase = running
	group, ctx := run.New(ctx)
	in.group, in.ctx = group, ctx
	in.applier.start()
	for _, r := range in.regs {
		in.start(r)
	}
	in.mu.Unlock()

	group.Go("apply "+in.o.Kind.GVK.Kind, in.applier.run)
	group.Go("watch "+in.o.Kind.GVK.Kind, func(ctx context.Context) error {
		defer in.applier.release()
		return in.watch.Run(ctx)
	})
	err := group.Wait()
	in.store.Close()

	in.mu.Lock()
	defer in.mu.Unlock()
	in.phase = stopped
	close(in.done)
	in.regs, in.joining = nil, nil
	return err
}

// wake has the applier's goroutine make a round, or another one.
func (in *Informer) wake() {
	select {
	case in.woken <- struct{}{}:
	default:
	}
}

// running is the ctx of Run. It is for the goroutines of Run.
func (in *Informer) running() context.Context {
	if in.ctx == nil {
		return context.Background()
	}
	return in.ctx
}

// Done is closed when the informer has stopped, or was given up without having run.
func (in *Informer) Done() <-chan struct{} { return in.done }

// Discard ends an informer that was never run: nothing can be added to it, and Done is closed. It does
// nothing to one that runs or has run.
func (in *Informer) Discard() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.phase == idle {
		in.phase, in.regs = stopped, nil
		close(in.done)
	}
}

// Subscribe adds a source: a function that is called for every change, none merged, once the store has it.
// Calls do not overlap. They are on the goroutine that applied the change, and must not block: look at
// headers, and put something into a queue. While a call runs, later changes of the kind do not become
// visible. A call that has run for a second is reported; see OnProblem. The first such may cut the watch;
// during later ones it is read. A panic is isolated and reported.
//
// A source that is added while the informer runs gets an Initial add for every held object first. It
// misses nothing and gets nothing twice. The error is ErrStopped once the ctx of Run has ended.
func (in *Informer) Subscribe(name string, call func(store.Change)) (*Registration, error) {
	if call == nil {
		return nil, fmt.Errorf("informer: source %q is nil", name)
	}
	r := newRegistration(in, name, call)
	return r, in.add(r)
}

// add takes in a registration: at once before Run, by way of the applier while it runs.
func (in *Informer) add(r *Registration) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.phase == stopped, in.phase == running && in.ctx.Err() != nil: // or is about to be
		return fmt.Errorf("add %s to the informer of %s: %w", r.name, in.o.Kind.GVK.Kind, ErrStopped)
	case in.phase == running:
		in.joining = append(in.joining, r)
		in.wake()
	default:
		in.regs = append(slices.Clip(in.regs), r)
	}
	return nil
}

// forget drops a removed registration.
func (in *Informer) forget(r *Registration) {
	in.mu.Lock()
	defer in.mu.Unlock()
	without := func(all []*Registration) []*Registration {
		if i := slices.Index(all, r); i >= 0 {
			return slices.Concat(all[:i], all[i+1:])
		}
		return all
	}
	in.regs, in.joining = without(in.regs), without(in.joining)
}

// registered are those who are to be told of changes.
func (in *Informer) registered() []*Registration {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.regs
}

// start starts the goroutine of a handler; a source has none.
func (in *Informer) start(r *Registration) {
	if r.backlog != nil {
		in.group.Go(r.name, r.loop)
	}
}
