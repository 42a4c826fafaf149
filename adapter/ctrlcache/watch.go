package ctrlcache

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flyball-io/flyball/adapter/internal/handlers"
	"github.com/flyball-io/flyball/adapter/internal/objects"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/jitter"
	"github.com/flyball-io/flyball/object"
)

// watchKey names one watch: a form of a kind, in a scope.
type watchKey struct {
	kindKey
	namespace string
}

// watch is one list and watch with its store.
type watch struct {
	key    watchKey
	kind   *kind
	in     *informer.Informer
	feed   *handlers.Feed
	resync time.Duration // of handlers that set none
	unsafe bool          // reads leave the TypeMeta empty, as UnsafeDisableDeepCopy does
	cancel context.CancelCauseFunc
	ctx    context.Context // ends with the watch
}

// defaultSyncPeriod is that of controller-runtime.
const defaultSyncPeriod = 10 * time.Hour

// watch returns a watch, and makes it if there is none. c.mu is held.
func (c *Cache) watch(key kindKey, k *kind, namespace string) (*watch, error) {
	at := watchKey{key, namespace}
	if w := c.watches[at]; w != nil {
		return w, nil
	}
	if err := key.listable(c.opts.Scheme); err != nil {
		return nil, err
	}
	if known := c.kinds[key.gvk]; known != nil {
		k = known
	}
	s := k.scopes[namespace]
	o := c.informerOptions(key, k, namespace, s)
	live := c.conn.typed
	if key.form == untyped {
		live = c.conn.plain
	}
	o.Scheme = live.Scheme()
	in, err := informer.New(live.Feed(key.gvk, o.Selection), o)
	if err != nil {
		return nil, fmt.Errorf("ctrlcache: %w", err)
	}
	w := &watch{key: at, kind: k, in: in, resync: defaultSyncPeriod}
	w.unsafe = s.UnsafeDisableDeepCopy != nil && *s.UnsafeDisableDeepCopy
	if s.SyncPeriod != nil {
		w.resync = *s.SyncPeriod
	}
	w.resync = time.Duration(float64(w.resync) * (0.9 + jitter.Float64()/5)) // so that kinds do not resync at once
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
	w.feed = handlers.NewFeed(w.ctx, in, func() (object.Object, error) { return key.newObject(c.opts.Scheme) }, nil)
	c.watches[at], c.kinds[key.gvk] = w, k
	if c.group != nil {
		c.start(w)
	}
	return w, nil
}

func (c *Cache) informerOptions(key kindKey, k *kind, namespace string, s crcache.Config) informer.Options {
	o := informer.Options{
		Kind: k.Kind,
		Selection: client.Selection{
			Labels: s.LabelSelector, Fields: s.FieldSelector, MetadataOnly: key.form == metadata,
		},
		KeepManagedFields: !c.o.CutManagedFields, GoHeap: c.o.GoHeap,
		Audit: c.o.Audit, OnProblem: c.o.OnProblem, Logger: c.o.Logger,
	}
	if k.ClusterScoped {
		o.Reflector.Within = c.plan.within()
	} else {
		o.Selection.Namespace = watched(namespace, s)
	}
	switch {
	case s.Transform == nil:
	case stripsManagedFields(s.Transform):
		o.KeepManagedFields = false
	default:
		o.Transform = objects.Transform(key.gvk, s.Transform)
	}
	if c.budgets[key.gvk] == nil {
		c.budgets[key.gvk] = &informer.Budget{Bytes: c.o.MemoryBudget}
	}
	o.Budget = c.budgets[key.gvk]
	o.Reflector.Limiter = c.lists
	if h := c.opts.DefaultWatchErrorHandler; h != nil {
		named := toolscache.NewReflectorWithOptions(nil, nil, nil, toolscache.ReflectorOptions{Name: key.String(), TypeDescription: key.String()})
		o.Reflector.OnFailure = func(err error) { h(c.ctx, named, objects.WatchError(err)) }
	}
	if c.o.Configure != nil {
		c.o.Configure(&o)
	}
	return o
}

// start runs a watch. c.mu is held.
func (c *Cache) start(w *watch) {
	c.group.Go(w.key.String(), func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stop := context.AfterFunc(w.ctx, func() { cancel(context.Cause(w.ctx)) })
		defer stop()
		err := w.in.Run(ctx)
		if ctx.Err() != nil {
			err = nil
		}
		w.cancel(errStopped)
		return err
	})
}

// remove ends the watch. running says that the cache runs.
func (w *watch) remove(running bool) {
	w.cancel(errRemoved)
	w.feed.RemoveHandlers()
	if !running {
		w.in.Discard()
	}
}

// ended reports whether the watch is removed, or stopped with its cache.
func (w *watch) ended() bool { return w.ctx.Err() != nil }

// sync waits until the watch has synced.
func (w *watch) sync(ctx context.Context) error {
	if w.in.HasSynced() {
		return nil
	}
	why := error(nil)
	select {
	case <-w.in.Synced():
		return nil
	case <-w.ctx.Done():
		why = context.Cause(w.ctx)
	case <-ctx.Done():
		why = context.Cause(ctx)
	}
	if w.in.HasSynced() {
		return nil
	}
	return apierrors.NewTimeoutError(fmt.Sprintf("failed waiting for the informer of %s to sync: %v: it is %s", w.key, why, w.in.State()), 0)
}
