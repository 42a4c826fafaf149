package clientgo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/internal/handlers"
	"github.com/flyball-io/flyball/adapter/internal/objects"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

// Informer is a SharedIndexInformer of client-go that holds its objects packed. Factories make it, and
// [NewSharedIndexInformer]. Any goroutine may call its methods.
type Informer struct {
	s    *shared
	spec spec
	err  error // why it cannot run

	indexer *indexer
	packed  atomic.Pointer[informer.Informer] // nil until the server has said what the kind is
	synced  chan struct{}

	mu         sync.Mutex
	indexers   atomic.Pointer[toolscache.Indexers] // replaced, never changed in place; mu is held
	transform  toolscache.TransformFunc
	watchError toolscache.WatchErrorHandlerWithContext
	resync     time.Duration // the least period of resyncs; zero: none
	group      *run.Group    // nil until it is started
	ctx        context.Context
	feed       *handlers.Feed // nil until packed is set
	handlers   map[*registration]struct{}
	stopped    bool
}

var (
	_ toolscache.SharedIndexInformer = (*Informer)(nil)
	_ toolscache.DoneChecker         = (*Informer)(nil)
	_ toolscache.Controller          = controller{}
)

// form is how a program represents the objects of a kind.
type form uint8

const (
	typed form = iota
	untyped
	metadata
)

// spec says what an informer is for. A typed one has a gvk, and the others a gvr.
type spec struct {
	form      form
	gvk       schema.GroupVersionKind
	gvr       schema.GroupVersionResource
	selection client.Selection
	resync    time.Duration
	goType    string // of a typed one whose kind is not known
}

// newInformer returns an informer. err is why it cannot run, or nil.
func newInformer(s *shared, of spec, indexers toolscache.Indexers, err error) *Informer {
	in := &Informer{s: s, spec: of, err: err, resync: of.resync, synced: make(chan struct{}), handlers: map[*registration]struct{}{}}
	in.indexer = newIndexer(in)
	in.indexers.Store(&toolscache.Indexers{})
	if in.err != nil {
		in.err = fmt.Errorf("clientgo: %w", in.err)
	}
	if in.err == nil {
		in.err = in.AddIndexers(indexers)
	}
	if in.err == nil && s.c.transform != nil {
		in.err = in.SetTransform(s.c.transform)
	}
	if in.err != nil {
		s.c.Logger.Error("an informer cannot run", "informer", in.Name(), "err", in.err)
	}
	return in
}

// From returns the packed informer behind an informer, which may be wrapped by
// [toolscache.NewTypedSharedIndexInformer]. ok is false for one of client-go.
func From(in toolscache.SharedInformer) (packed *Informer, ok bool) {
	i, ok := in.GetStore().(*indexer)
	if !ok {
		return nil, false
	}
	return i.in, true
}

// Packed returns the informer of Flyball, which reads metadata, single fields and figures without decoding objects.
// It is nil until the informer is started and the server has said that it serves the kind.
func (in *Informer) Packed() *informer.Informer { return in.packed.Load() }

// Err returns nil if reads answer for the whole kind; see [Readable].
func (in *Informer) Err() error {
	if in.err != nil {
		return in.err
	}
	if packed := in.packed.Load(); packed != nil {
		_, err := packed.Snapshot()
		return err
	}
	if !in.HasStarted() {
		return fmt.Errorf("clientgo: %s: %w", in.Name(), ErrNotStarted)
	}
	return &informer.NotSyncedError{Kind: in.spec.gvk, Selection: in.spec.selection}
}

// Name implements toolscache.DoneChecker.
func (in *Informer) Name() string {
	name := in.spec.goType
	switch {
	case in.spec.gvk.Kind != "":
		name = in.spec.gvk.String()
	case in.spec.gvr.Resource != "":
		name = in.spec.gvr.String()
	}
	return "informer of " + name + [...]string{"", " (unstructured)", " (metadata)"}[in.spec.form]
}

// Done implements toolscache.DoneChecker.
func (in *Informer) Done() <-chan struct{} { return in.synced }

// Run implements SharedInformer.
func (in *Informer) Run(stop <-chan struct{}) { in.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext implements SharedInformer. It returns when ctx has ended and all calls of handlers have returned,
// or at once if the informer cannot run. It runs once: a second call logs that and returns.
func (in *Informer) RunWithContext(ctx context.Context) {
	in.mu.Lock()
	if in.group != nil {
		in.mu.Unlock()
		in.s.c.Logger.Warn("an informer runs once: it has been started before", "informer", in.Name())
		return
	}
	in.group, in.ctx = run.New(ctx)
	in.mu.Unlock()
	if in.err == nil {
		defer in.s.enter(in)()
		in.group.Go(in.Name(), in.watch)
	}
	if err := in.group.Wait(); err != nil && ctx.Err() == nil {
		in.s.c.Logger.Error("an informer has ended", "informer", in.Name(), "err", err)
	}

	in.mu.Lock()
	in.stopped = true
	all := in.handlers
	in.handlers = nil
	in.mu.Unlock()
	for r := range all {
		r.Remove()
	}
}

// watch finds out what the kind is, and runs the informer of Flyball.
func (in *Informer) watch(ctx context.Context) error {
	kind, err := in.resolve(ctx)
	if err != nil {
		return nil // ctx has ended
	}
	packed, err := in.open(ctx, kind)
	if err != nil {
		return err
	}
	in.group.Go("sync", func(ctx context.Context) error {
		select {
		case <-packed.Synced():
			close(in.synced)
		case <-ctx.Done():
		}
		return nil
	})
	err = packed.Run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// resolve asks the server what the kind is, until it knows or ctx ends.
func (in *Informer) resolve(ctx context.Context) (informer.Kind, error) {
	fails := backoff.Backoff{Policy: backoff.Policy{Base: 250 * time.Millisecond, Max: 30 * time.Second, Jitter: 0.5}}
	for {
		kind, err := in.ask(ctx)
		if err == nil || ctx.Err() != nil {
			return kind, errors.Join(err, ctx.Err())
		}
		pause := fails.Fail(time.Now())
		in.s.c.Logger.Warn("the server does not say what a kind is", "informer", in.Name(), "err", err, "retryIn", pause)
		in.failed(err)
		if err := run.Sleep(ctx, pause); err != nil {
			return kind, err
		}
	}
}

func (in *Informer) ask(ctx context.Context) (informer.Kind, error) {
	live, gvk := in.s.conn.typed, in.spec.gvk
	if gvk.Kind == "" {
		// KindFor has no ctx. It answers from memory once the server was asked.
		if _, err := live.Mapping(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}); err != nil && !errors.As(err, new(*client.NotServedError)) {
			return informer.Kind{}, err
		}
		var err error
		if gvk, err = live.Mapper().KindFor(in.spec.gvr); err != nil {
			return informer.Kind{}, err
		}
	}
	m, err := live.Mapping(ctx, gvk)
	if err != nil {
		return informer.Kind{}, err
	}
	if in.spec.gvr.Resource != "" && m.Resource != in.spec.gvr {
		return informer.Kind{}, fmt.Errorf("%s: the objects are a %s, whose resource is %s", in.spec.gvr, gvk.Kind, m.Resource)
	}
	return informer.Kind{GVK: gvk, Resource: m.Resource, ClusterScoped: m.Scope.Name() != "namespace"}, nil
}

// open makes the informer of Flyball, and adds the indexes and handlers that wait for it.
func (in *Informer) open(ctx context.Context, kind informer.Kind) (*informer.Informer, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	live := in.s.conn.typed
	if in.spec.form == untyped {
		live = in.s.conn.plain
	}
	o := in.s.informerOptions(kind, in.spec.selection)
	o.Scheme = live.Scheme()
	if in.transform != nil {
		o.Transform = objects.Transform(kind.GVK, in.transform)
	}
	o.Reflector.OnFailure = in.failed
	if in.s.c.Configure != nil {
		in.s.c.Configure(&o)
	}
	packed, err := informer.New(live.Feed(kind.GVK, o.Selection), o)
	if err != nil {
		return nil, err
	}
	in.feed = handlers.NewFeed(ctx, packed, func() (object.Object, error) { return in.newObject(kind.GVK) }, in.clean)
	for name, f := range *in.indexers.Load() {
		if err := in.addIndex(name, f); err != nil {
			return nil, err
		}
	}
	for r := range in.handlers {
		if err := in.join(r); err != nil {
			return nil, err
		}
	}
	in.packed.Store(packed)
	return packed, nil
}

// newObject returns an empty object of the kind.
func (in *Informer) newObject(gvk schema.GroupVersionKind) (object.Object, error) {
	switch in.spec.form {
	case untyped:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u, nil
	case metadata:
		return &metav1.PartialObjectMetadata{}, nil
	}
	o, err := in.s.c.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	obj, ok := o.(object.Object)
	if !ok {
		return nil, fmt.Errorf("%s: a %T has no metadata", gvk, o)
	}
	return obj, nil
}

// clean empties the TypeMeta of all but unstructured objects, as the clients of client-go do.
func (in *Informer) clean(o object.Object) {
	if in.spec.form != untyped {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

// failed tells the handler of watch errors of a failure.
func (in *Informer) failed(err error) {
	f, ctx := in.watchError, in.ctx // they stay as they are once the informer is started
	if f == nil {
		return
	}
	named := toolscache.NewReflectorWithOptions(nil, nil, nil, toolscache.ReflectorOptions{Name: in.Name(), TypeDescription: in.Name()})
	if err := run.Safely("watch error handler", func() error { f(ctx, named, objects.WatchError(err)); return nil }); err != nil {
		in.s.c.Logger.Error("the handler of watch errors panicked", "informer", in.Name(), "err", err)
	}
}

// HasStarted reports whether the informer runs or has run.
func (in *Informer) HasStarted() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.group != nil
}

// HasSynced implements SharedInformer.
func (in *Informer) HasSynced() bool { return toolscache.IsDone(in) }

// HasSyncedChecker implements SharedInformer.
func (in *Informer) HasSyncedChecker() toolscache.DoneChecker { return in }

// IsStopped implements SharedInformer.
func (in *Informer) IsStopped() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.stopped
}

// LastSyncResourceVersion implements SharedInformer.
func (in *Informer) LastSyncResourceVersion() string {
	if packed := in.packed.Load(); packed != nil {
		return packed.State().Watch.ResourceVersion
	}
	return ""
}

// SetTransform implements SharedInformer. It calls the function once with an empty object: one that returns another
// type is a *[TransformTypeError], and one that sets a field without JSON a *[TransformFieldError]. The function gets no DeletedFinalStateUnknown, and must not change the name, the
// namespace or the UID. The error is [ErrStarted] once the informer is started.
func (in *Informer) SetTransform(f toolscache.TransformFunc) error {
	if f != nil {
		gvk := in.spec.gvk
		if gvk.Kind == "" {
			gvk = in.spec.gvr.GroupVersion().WithKind(in.spec.gvr.Resource)
		}
		o, err := in.newObject(gvk)
		if err == nil {
			err = objects.Probe(gvk, f, o)
		}
		if err != nil {
			return fmt.Errorf("clientgo: %w", err)
		}
	}
	return in.set(func() { in.transform = f })
}

// SetWatchErrorHandler implements SharedInformer. The function gets each failure after which a list or
// watch is tried again, and a reflector that has a name only. In failures that the server answered, errors.As finds an
// *apierrors.StatusError.
func (in *Informer) SetWatchErrorHandler(f toolscache.WatchErrorHandler) error {
	return in.SetWatchErrorHandlerWithContext(func(_ context.Context, r *toolscache.Reflector, err error) { f(r, err) })
}

// SetWatchErrorHandlerWithContext implements SharedInformer. See SetWatchErrorHandler.
func (in *Informer) SetWatchErrorHandlerWithContext(f toolscache.WatchErrorHandlerWithContext) error {
	return in.set(func() { in.watchError = f })
}

func (in *Informer) set(f func()) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.group != nil {
		return fmt.Errorf("clientgo: %s: %w", in.Name(), ErrStarted)
	}
	f()
	return nil
}

// GetStore implements SharedInformer.
func (in *Informer) GetStore() toolscache.Store { return in.indexer }

// GetIndexer implements SharedIndexInformer.
func (in *Informer) GetIndexer() toolscache.Indexer { return in.indexer }

// GetController implements SharedInformer. As in client-go, its Run does nothing.
func (in *Informer) GetController() toolscache.Controller { return controller{in} }

type controller struct{ *Informer }

func (controller) Run(<-chan struct{})            {}
func (controller) RunWithContext(context.Context) {}
