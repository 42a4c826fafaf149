package ctrlcache

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flyball-io/flyball/adapter/internal/handlers"
	"github.com/flyball-io/flyball/adapter/internal/synced"
)

// Informer is a cache.Informer of controller-runtime, over one watch for each scope of the kind. The calls of
// one handler never overlap, also if there are several watches. One with a single watch is a SharedIndexInformer.
type Informer struct {
	checker
	c       *Cache
	key     kindKey
	watches []*watch
	synced  *synced.Signal
	shared  *shared // nil with several watches

	mu       sync.Mutex
	indexers atomic.Pointer[toolscache.Indexers] // replaced, never changed in place; mu is held
}

// checker has HasSyncedChecker where cache.Informer has it.
type checker = synced.Checker

var _ crcache.Informer = (*Informer)(nil)

// AddEventHandler implements cache.Informer. The handler is resynced in the period of the cache.
func (in *Informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return in.add(h, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.Informer. Resyncs are spread over the period. Zero or
// negative: none. The minimum is a second.
func (in *Informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return in.add(h, toolscache.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions implements cache.Informer. The Logger gets the panics of the handler.
func (in *Informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return in.add(h, o)
}

func (in *Informer) add(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	if h == nil {
		return nil, fmt.Errorf("ctrlcache: handler of %s is nil", in.key)
	}
	log := in.c.o.Logger
	if o.Logger != nil {
		log = slog.New(logr.ToSlogHandler(*o.Logger))
	}
	r := &registration{c: in.c, in: in}
	r.Registration = handlers.New(h, handlers.Options{
		Name: "handler of " + in.Name(), Kind: in.key.gvk, Backlog: in.c.o.HandlerBacklog,
		OnProblem: in.c.o.OnProblem, Logger: log,
	})
	var joins []handlers.Join
	for _, w := range in.watches {
		every := w.resync
		if o.ResyncPeriod != nil {
			every = *o.ResyncPeriod
		}
		joins = append(joins, handlers.Join{Feed: w.feed, Resync: every})
	}
	if err := r.Join(joins...); err != nil {
		return nil, fmt.Errorf("ctrlcache: %w", err)
	}
	if err := in.c.begin(r); err != nil {
		r.Remove()
		return nil, err
	}
	return r, nil
}

// registration is a handler of an informer.
type registration struct {
	*handlers.Registration
	c  *Cache
	in *Informer
}

// begin starts the goroutine of a handler, now or when the cache starts.
func (c *Cache) begin(r *registration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range r.in.watches {
		if w.ended() {
			return fmt.Errorf("ctrlcache: %s: %w", r.Name(), context.Cause(w.ctx))
		}
	}
	if !c.goLocked(r.Name(), r.Run) {
		return fmt.Errorf("ctrlcache: %s: %w", r.Name(), errStopped)
	}
	return nil
}

// RemoveEventHandler implements cache.Informer. It does not wait: a call that has begun, or is about to, finishes.
// toolscache.ShutDownEventHandler waits for it.
func (in *Informer) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok || r.c != in.c {
		return fmt.Errorf("ctrlcache: %s: the registration is not of this cache", in.key)
	}
	r.Remove()
	return nil
}

// AddIndexers implements cache.Informer. The indexes have names of their own beside those of IndexField. There is one
// by namespace, as in the default cache. If a name is taken or a function is nil, none is added.
func (in *Informer) AddIndexers(all toolscache.Indexers) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	next := maps.Clone(*in.indexers.Load())
	for name, f := range all {
		if f == nil {
			return fmt.Errorf("ctrlcache: index %q of %s: the function is nil", name, in.key)
		}
		if _, taken := next[name]; taken {
			return fmt.Errorf("ctrlcache: %s: indexer conflict: there is an index %q", in.key, name)
		}
		next[name] = f
	}
	for name, f := range all {
		err := in.addIndex(funcIndex+name, func(o runtime.Object) ([]string, error) { return f(o) })
		if err != nil {
			return err
		}
	}
	in.indexers.Store(&next)
	return nil
}

// addIndex adds an index to all watches.
func (in *Informer) addIndex(name string, values func(runtime.Object) ([]string, error)) error {
	for _, w := range in.watches {
		if err := w.feed.AddIndex(name, values); err != nil {
			return fmt.Errorf("ctrlcache: %w", err)
		}
	}
	return nil
}

// HasSynced implements cache.Informer.
func (in *Informer) HasSynced() bool {
	for _, w := range in.watches {
		if !w.in.HasSynced() {
			return false
		}
	}
	return true
}

// Name names the informer in errors and logs.
func (in *Informer) Name() string { return "informer of " + in.key.String() }

// Done is closed when the informer of a started cache has synced.
func (in *Informer) Done() <-chan struct{} { return in.synced.Done() }

// awaitSync sets the signal when all watches have synced, unless one ends before.
func (in *Informer) awaitSync(ctx context.Context) error {
	for _, w := range in.watches {
		if w.sync(ctx) != nil {
			return nil
		}
	}
	in.synced.Set()
	return nil
}

// IsStopped implements cache.Informer.
func (in *Informer) IsStopped() bool {
	for _, w := range in.watches {
		if !w.ended() {
			return false
		}
	}
	return true
}
