package informer

import (
	"cmp"
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
	"github.com/flyball-io/flyball/internal/ctxkey"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Options say what an Informer watches and how. New reads them.
type Options struct {
	Kind Kind
	// Selection is the selection of the source.
	Selection client.Selection
	// Scheme has the Go types of typed kinds. It may be nil for a kind without a Go type.
	Scheme *runtime.Scheme
	// Indexes are the indexes at the start, by name. AddIndex adds others. Nil: none.
	Indexes map[string]store.Indexer
	// Transform changes each incoming version of an object before it is stored: once for each version,
	// and again if the server shows that version in another way. Calls do not overlap. The object has the
	// Go type of the kind, or is unstructured if there is none. If Transform fails or panics, the object
	// is rejected. Nil: none.
	//
	// It must be quick. Reads and the watch go on while it runs, but no later change of the kind becomes
	// visible. A call that has run for a second is reported; see OnProblem.
	Transform func(object.Object) error
	// KeepManagedFields keeps metadata.managedFields. By default they are cut from the bytes of every
	// incoming object, before the transform: they are half of most objects, and few programs read them.
	// A write of an object without them does not change those of the server.
	KeepManagedFields bool
	// GoHeap is store.Options.GoHeap: it keeps the objects in the Go heap.
	GoHeap bool
	// Budget is the memory that this informer, and others with the same Budget, should hold. It is no
	// limit. An informer above it logs that and reports a *BudgetError. Nil: none.
	Budget *Budget
	// Resync is the period of a handler that does not name its own. Zero or negative: never.
	Resync time.Duration
	// Audit is the approximate interval of audits; each begins after three quarters of it to the whole. An audit
	// lists all objects at exactly the version of the watch. Whatever differs from the held objects is an event that
	// the watch has lost. It is shown as a change, counted and logged; see Figures. Events that come during the list
	// are shown after it. A server that does not list an old version lists the newest one, which repairs as much; see
	// AuditStats. Any other complete list begins the interval anew. Zero: 6 h. Negative: never.
	//
	// An audit of 100,000 Pods takes 51 MB over the wire, about 2 s of CPU and at most 15 MB of memory, in six
	// seconds. See docs/adr/0049-audits-are-lists.md.
	Audit time.Duration
	// OnProblem is called with each problem that a person should look at; see Problem. Problems are logged,
	// too. It is called once for each rejected version of an object. An index function, transform or source
	// that has run for a second is an *OverdueError. Calls may overlap, and must not block. Nil: none.
	OnProblem func(Problem)
	// Reflector tunes the list and watch. Its Resource is set from Kind if it is empty.
	Reflector reflector.Options
	// Logger is the log of the informer. Nil: slog.Default().
	Logger *slog.Logger
}

// Informer keeps one selection of one kind in a store, and calls its registrations with the changes. It runs
// once. Any goroutine may call its methods.
type Informer struct {
	o       Options
	log     *slog.Logger
	watch   *reflector.Reflector
	applier *applier
	store   *store.Store
	avail   availability
	audits  audits
	buffers buffers
	synced  chan struct{}
	done    chan struct{} // closed when phase becomes stopped
	woken   chan struct{} // holds one token while the applier has work

	mu       sync.Mutex
	phase    phase
	group    *run.Group
	ctx      context.Context // of the group
	regs     []*Registration // replaced, never changed in place
	joining  []*Registration // added while running; the applier takes them over
	rejected map[object.Key]*rejected

	kind       *wire.Kind  // for package wire; it has the compiled views
	namespaces []string    // the only watched ones; nil: all
	namespaced atomic.Bool // an object of a namespace that is not watched has shown that the kind has namespaces

	slow logguard.Throttle // about slow functions
	// readAhead is set if functions may block the applier. The reader then leaves updates in the inbox.
	readAhead atomic.Bool
	// unreported says that an index has rejected objects. The next commit reports them.
	unreported atomic.Bool
	version    atomic.Value // the string of Version
	owners     sync.Mutex   // held while the index of owners is made
	labels     labelIndexes

	weight int64 // bytes of the store that the budget counts; the applier owns it
}

// phase is the phase of an Informer.
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
		kind:     &wire.Kind{GVK: o.Kind.GVK, Scheme: o.Scheme, MetadataOnly: o.Selection.MetadataOnly},
		log:      o.Logger,
		woken:    make(chan struct{}, 1),
		synced:   make(chan struct{}),
		done:     make(chan struct{}),
		rejected: make(map[object.Key]*rejected),
	}
	so := store.Options{
		Resource: o.Kind.Resource.GroupResource(), ClusterScoped: o.Kind.ClusterScoped, GoHeap: o.GoHeap,
		OnOverdue: func(index string, key object.Key, began time.Time) {
			in.overdue(slowCall{partIndex, index, key}, began)
		},
		OnRejected: in.reportRejected,
	}
	in.applier = newApplier(in)
	in.readAhead.Store(o.Transform != nil)
	in.log = logguard.Logger(in.log)
	in.log = in.log.With("kind", o.Kind.GVK.GroupKind().String())
	if o.Reflector.Resource == "" {
		o.Reflector.Resource = o.Kind.Resource.GroupResource().String()
	}
	switch only := &o.Reflector; {
	case o.Kind.ClusterScoped && only.Within == nil && o.Selection.Namespace != "":
		only.Within = []string{o.Selection.Namespace}
	case !o.Kind.ClusterScoped:
		only.Within, only.Namespace = nil, cmp.Or(only.Namespace, o.Selection.Namespace)
	}
	if in.namespaces = o.Reflector.Within; o.Reflector.Namespace != "" {
		in.namespaces = []string{o.Reflector.Namespace}
	}
	so.Recycle = in.buffers.put
	in.store = store.New(so)
	o.Reflector.Audit = auditInterval(o.Audit)
	if o.Reflector.Logger == nil {
		o.Reflector.Logger = in.log
	}
	for name, f := range o.Indexes {
		if err := in.addIndex(name, f); err != nil {
			return nil, &option.Error{Of: "informer.Options", Field: "Indexes", Err: err}
		}
	}
	if onFailure := o.Reflector.OnFailure; onFailure != nil {
		o.Reflector.OnFailure = func(err error) { in.hook("OnFailure", func() { onFailure(err) }) }
	}
	onState := o.Reflector.OnState
	o.Reflector.OnState = func(s reflector.State) {
		in.avail.update(in, s)
		if onState != nil {
			in.hook("OnState", func() { onState(s) })
		}
	}
	watch, err := reflector.New(source, in.applier, o.Reflector)
	if err != nil {
		return nil, fmt.Errorf("informer: %w", err)
	}
	in.watch = watch
	return in, nil
}

// Kind is what the informer watches. If the definition of the kind is made anew with another scope, Kind has
// the scope of the held objects.
func (in *Informer) Kind() Kind {
	k := in.o.Kind
	k.ClusterScoped = in.clusterScoped(in.store.Snapshot())
	return k
}

// clusterScoped reports whether the objects of a snapshot have no namespaces.
func (in *Informer) clusterScoped(s *store.Snapshot) bool {
	return s.ClusterScoped() && (s.Len() > 0 || !in.namespaced.Load())
}

// watches reports whether objects of a namespace are held, if the kind has namespaces.
func (in *Informer) watches(namespace string) bool {
	return in.namespaces == nil || slices.Contains(in.namespaces, namespace)
}

// Selection is the part of the kind that the informer watches.
func (in *Informer) Selection() client.Selection { return in.o.Selection }

// Run watches until ctx ends. It returns the cause when every goroutine of the informer has ended. It waits for
// running callbacks and index functions, however long they take, and drops pending changes. A second call is a
// run.ErrRunning. After Run, reads answer from the last state.
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
	ctxkey.Show(ctx, in.cached)

	group.Go("apply "+in.o.Kind.GVK.Kind, in.applier.run)
	group.Go("watch "+in.o.Kind.GVK.Kind, func(ctx context.Context) error {
		defer in.applier.release()
		return in.watch.Run(ctxkey.As(ctx, in.o.Kind.GVK.String()+" "+in.o.Selection.String()))
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

// wake makes the applier's goroutine run a round.
func (in *Informer) wake() {
	select {
	case in.woken <- struct{}{}:
	default:
	}
}

// running returns the ctx of Run, for the goroutines of Run.
func (in *Informer) running() context.Context {
	if in.ctx == nil {
		return context.Background()
	}
	return in.ctx
}

// Done is closed when the informer has stopped, or was discarded.
func (in *Informer) Done() <-chan struct{} { return in.done }

// Discard stops an informer that has never run, and closes Done. It does nothing to one that runs or has run.
func (in *Informer) Discard() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.phase == idle {
		in.phase, in.regs = stopped, nil
		close(in.done)
	}
}

// Subscribe adds a source: a function that gets every change, unmerged, after the store has it. Calls do not
// overlap. They run on the goroutine that applied the change, and must not block: a source reads headers, and
// adds to a queue. While a call runs, later changes of the kind do not become visible. A call that has run for
// a second is reported; see OnProblem. The first such call may break the watch; during later ones the watch is
// read. A panic is recovered and reported.
//
// A source that is added while the informer runs gets an Initial add for every held object first. It gets each
// later change exactly once. The error is ErrStopped once the ctx of Run has ended.
func (in *Informer) Subscribe(name string, call func(store.Change)) (*Registration, error) {
	if call == nil {
		return nil, fmt.Errorf("informer: source %q is nil", name)
	}
	r := newRegistration(in, name, call)
	return r, in.add(r)
}

// add adds a registration. While the informer runs, the applier starts it.
func (in *Informer) add(r *Registration) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.phase == stopped, in.phase == running && in.ctx.Err() != nil: // stopped, or stops
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

// registered returns the registrations that get changes.
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
