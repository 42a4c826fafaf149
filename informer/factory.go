package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// FactoryOptions says how a Factory makes its informers. The zero value works: everything of
// each kind, no resync. They are read by NewFactory.
type FactoryOptions struct {
	// Selection is what is watched of each kind that is opened without a selection of its own:
	// one namespace, label and field selectors.
	Selection client.Selection
	// Resync is the period of handlers that do not name their own. Zero or negative: never.
	Resync time.Duration
	// Audit is how often each informer looks for events that its watch has lost; see [Options]. Zero:
	// 6 h. Negative: never. One of them lists at a time.
	Audit time.Duration
	// Configure may change the options of each informer before it is made, by its kind: a
	// Transform, an index, KeepManagedFields, another Resync. It must not change what is
	// watched, and not call the factory. It is called again when the factory starts again. Nil: none.
	Configure func(*Options)
	// OnProblem is told what all informers report; see [Options].
	OnProblem func(Problem)
	// Limiter spreads the lists of all kinds. Nil: one with the defaults of its options, eight lists
	// at a time and a hundred a second.
	Limiter *reflector.Limiter
	// Logger is where a person is told. Nil: slog.Default().
	Logger *slog.Logger
}

// Factory shares informers: whoever opens the same kind and selection gets a share of the same
// one, and the last to close it ends it. It can run again after it stopped: then each informer
// that is open is a new one, with an empty store, the same indexes, and no registrations. All
// methods may be called from any goroutine.
type Factory struct {
	conn   Connection
	o      FactoryOptions
	audits *reflector.Limiter

	mu     sync.Mutex
	shared map[shareKey]*shared
	group  *run.Group // while it runs
	ctx    context.Context
}

// auditLimit is that of all audits of a factory. Its patience never falls below two seconds: an audit
// pauses for up to one between two pages, and keeps its turn.
var auditLimit = reflector.LimiterOptions{Lists: 1, Rate: 10, Patience: 20 * time.Second}

// NewFactory returns a factory without informers. It starts nothing.
func NewFactory(conn Connection, o FactoryOptions) (*Factory, error) {
	switch {
	case conn.Source == nil:
		return nil, &option.Error{Of: "informer.Connection", Field: "Source", Err: errors.New("is nil")}
	case conn.Mapping == nil:
		return nil, &option.Error{Of: "informer.Connection", Field: "Mapping", Err: errors.New("is nil")}
	}
	if o.Limiter == nil {
		o.Limiter = reflector.NewLimiter(reflector.LimiterOptions{})
	}
	o.Logger = logguard.Logger(o.Logger)
	return &Factory{
		conn: conn, o: o, shared: make(map[shareKey]*shared),
		audits: reflector.NewLimiter(auditLimit),
	}, nil
}

// Connection is the one the factory was made with.
func (f *Factory) Connection() Connection { return f.conn }

// Open returns a share of the informer of a kind, with the selection of the factory. The watch
// starts when the factory runs, at once if it does already. ctx bounds the question to the server
// which resource serves the kind.
//
//	deployments, err := informer.Open[appsv1.Deployment](ctx, factory)
//
// Errors: *object.UnknownKindError, and those of Connection.Mapping.
func Open[T any, P object.Ptr[T]](ctx context.Context, f *Factory) (*Typed[T], error) {
	kind, err := f.conn.Resolve(ctx, P(new(T)))
	if err != nil {
		return nil, err
	}
	s, err := f.OpenKind(kind, f.o.Selection)
	if err != nil {
		return nil, err
	}
	return typedShare[T, P](s)
}

// OpenKind returns a share of the informer of a kind and selection.
func (f *Factory) OpenKind(kind Kind, sel client.Selection) (*Share, error) {
	if kind.ClusterScoped {
		sel.Namespace = ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := keyOf(kind.GVK, sel)
	s := f.shared[key]
	if s == nil {
		s = &shared{f: f, key: key, kind: kind, sel: sel, gone: make(chan struct{}), indexes: map[string]store.Indexer{}}
		if err := s.renew(); err != nil {
			return nil, err
		}
		f.shared[key] = s
		if f.group != nil {
			s.start()
		}
	}
	s.users++
	return &Share{s: s}, nil
}

// Run runs the informers that are open, and those that are opened meanwhile, until ctx ends. It
// returns when every goroutine of theirs has ended, with the cause. After that it may be called
// again; while it runs that is a run.ErrRunning.
func (f *Factory) Run(ctx context.Context) error {
	f.mu.Lock()
	if f.group != nil {
		f.mu.Unlock()
		return fmt.Errorf("factory: %w", run.ErrRunning)
	}
	group, ctx := run.New(ctx)
	f.group, f.ctx = group, ctx
	for _, s := range f.shared {
		s.start()
	}
	f.mu.Unlock()
	group.Go("", func(ctx context.Context) error {
		<-ctx.Done() // the group lives, also while nothing is open
		return nil
	})
	err := group.Wait()

	f.mu.Lock()
	defer f.mu.Unlock()
	f.group, f.ctx = nil, nil
	for _, s := range f.shared {
		if failed := s.renew(); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// WaitForCacheSync waits until every informer that is open has synced. It returns false when ctx
// ended first.
func (f *Factory) WaitForCacheSync(ctx context.Context) bool { return f.WaitForSync(ctx) == nil }

// WaitForSync is WaitForCacheSync that says, in a *SyncError, which informers have not synced when
// ctx ended, and why.
func (f *Factory) WaitForSync(ctx context.Context) error {
	for {
		missing, wait := f.unsynced()
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-wait.in.Synced():
		case <-wait.replaced:
		case <-wait.s.gone:
		case <-ctx.Done():
			e := &SyncError{Cause: context.Cause(ctx)}
			missing, _ = f.unsynced()
			for _, in := range missing {
				e.Missing = append(e.Missing, in.notSynced())
			}
			return e
		}
	}
}

type syncWait struct {
	s        *shared
	in       *Informer
	replaced chan struct{}
}

// unsynced returns what has not synced, and one of it to wait for.
func (f *Factory) unsynced() (missing []*Informer, wait syncWait) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sorted() {
		if !s.in.HasSynced() {
			missing = append(missing, s.in)
			wait = syncWait{s, s.in, s.replaced}
		}
	}
	return missing, wait
}

// Informers returns the informers that are open, in the order of their kinds.
func (f *Factory) Informers() []*Informer {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*Informer
	for _, s := range f.sorted() {
		all = append(all, s.in)
	}
	return all
}

// sorted is what is open, by kind and selection. f.mu is held.
func (f *Factory) sorted() []*shared {
	return slices.SortedFunc(maps.Values(f.shared), func(a, b *shared) int {
		return cmp.Or(
			cmp.Compare(a.kind.GVK.String(), b.kind.GVK.String()),
			cmp.Compare(a.sel.String(), b.sel.String()))
	})
}
