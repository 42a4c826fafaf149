package ctrl

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/internal/delta"
	"github.com/flyball-io/flyball/object"
	flyrun "github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Informer is a cache.Informer of controller-runtime over an open kind. Its handlers work for one run of the
// manager.
type Informer struct {
	cache   *Cache
	proto   object.Object
	handle  *cache.Handle
	removed chan struct{}

	mu       sync.Mutex
	handlers []*registration
	gone     bool
}

var _ crcache.Informer = (*Informer)(nil)

// AddEventHandler implements cache.Informer. Events of one key that wait for the handler merge into one.
func (in *Informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return in.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (in *Informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return in.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &period})
}

var errNoHandler = errors.New("ctrl: the event handler is nil")

// AddEventHandlerWithOptions implements cache.Informer. The handler works while the manager runs. A panic of it
// is logged.
func (in *Informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	if h == nil {
		return nil, errNoHandler
	}
	r := &registration{in: in, handler: h, queue: delta.New(), synced: make(chan struct{})}
	sub, err := in.handle.Subscribe(fmt.Sprintf("%T", h), r.queue.Push)
	if err != nil {
		return nil, err
	}
	r.sub = sub
	period := in.cache.mgr.ResyncPeriod()
	if o.ResyncPeriod != nil {
		period = *o.ResyncPeriod
	}
	if period > 0 {
		sub.ResyncEvery(period)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.gone {
		r.remove()
		return nil, errRemoved
	}
	in.handlers = append(in.handlers, r)
	in.cache.start(r)
	return r, nil
}

// RemoveEventHandler implements cache.Informer. It does not wait for a call of the handler that is running.
func (in *Informer) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok || r.in != in {
		return fmt.Errorf("ctrl: %T is no registration of this informer", handle)
	}
	r.remove()
	return nil
}

// AddIndexers implements cache.Informer: it is an error. Declare indexes by [Cache.IndexField].
func (in *Informer) AddIndexers(toolscache.Indexers) error {
	return errors.New("ctrl: the packed cache has no indexers of client-go: declare an index by IndexField")
}

// HasSynced implements cache.Informer.
func (in *Informer) HasSynced() bool {
	for _, one := range in.handle.Informers() {
		if !one.HasSynced() {
			return false
		}
	}
	return true
}

// HasSyncedChecker implements cache.Informer.
func (in *Informer) HasSyncedChecker() toolscache.DoneChecker {
	all := in.handle.Informers()
	if len(all) == 1 {
		return checker{fmt.Sprintf("informer of %T", in.proto), all[0].Synced()}
	}
	done := make(chan struct{})
	go func() {
		for _, one := range all {
			select {
			case <-one.Synced():
			case <-one.Done():
				return
			case <-in.removed:
				return
			}
		}
		close(done)
	}()
	return checker{fmt.Sprintf("informers of %T", in.proto), done}
}

// IsStopped implements cache.Informer.
func (in *Informer) IsStopped() bool {
	select {
	case <-in.removed:
		return true
	case <-in.handle.Informer().Done():
		return true
	default:
		return false
	}
}

// remove ends the handlers and the share in the watch.
func (in *Informer) remove() {
	in.mu.Lock()
	in.gone = true
	handlers := in.handlers
	in.mu.Unlock()
	close(in.removed)
	for _, r := range handlers {
		r.remove()
	}
	in.handle.Close()
}

// checker implements cache.DoneChecker of client-go.
type checker struct {
	name string
	done <-chan struct{}
}

// Name implements cache.DoneChecker.
func (c checker) Name() string { return c.name }

// Done implements cache.DoneChecker.
func (c checker) Done() <-chan struct{} { return c.done }

// registration is a handler of an informer. Its changes wait in a queue with a slot for each key.
type registration struct {
	in      *Informer
	handler toolscache.ResourceEventHandler
	queue   *delta.Queue
	sub     *cache.Subscription
	synced  chan struct{} // closed when the handler was called for all that existed at the start
}

// HasSynced implements cache.ResourceEventHandlerRegistration.
func (r *registration) HasSynced() bool { return toolscache.IsDone(r.HasSyncedChecker()) }

// HasSyncedChecker implements cache.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() toolscache.DoneChecker {
	return checker{fmt.Sprintf("event handler of %T", r.in.proto), r.synced}
}

func (r *registration) remove() {
	r.sub.Close()
	r.queue.Close()
}

// run calls the handler until ctx ends or the registration is removed.
func (r *registration) run(ctx context.Context) error {
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		select {
		case <-r.sub.Synced():
			r.queue.Mark()
		case <-stop:
		}
	})
	defer wait.Wait()
	defer close(stop)
	for {
		item, err := r.queue.Next(ctx)
		switch {
		case err != nil:
			return nil
		case item.Mark:
			close(r.synced)
			continue
		}
		if err := flyrun.Safely("event handler", func() error { return r.deliver(item.Change) }); err != nil {
			r.in.cache.mgr.Logger().Error("event handler", "object", item.Change.Key.String(), "err", err)
		}
	}
}

// deliver calls the handler for the events of a change. The error is that of an object that cannot be decoded.
func (r *registration) deliver(c store.Change) error {
	events, err := changeOf(c, decodedLike(r.in.proto))
	for _, e := range events.deleted {
		r.handler.OnDelete(tombstone(c.Key, e))
	}
	if events.created != nil {
		r.handler.OnAdd(events.created.Object, events.created.IsInInitialList)
	}
	if events.updated != nil {
		r.handler.OnUpdate(events.updated.ObjectOld, events.updated.ObjectNew)
	}
	return err
}

// tombstone is what a handler is told of a deleted object.
func tombstone(key object.Key, e event.TypedDeleteEvent[crclient.Object]) any {
	if !e.DeleteStateUnknown {
		return e.Object
	}
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + name
	}
	return toolscache.DeletedFinalStateUnknown{Key: name, Obj: e.Object}
}

// fresh returns a new object of o's type, with its kind.
func fresh(o object.Object) object.Object {
	n := reflect.New(reflect.TypeOf(o).Elem()).Interface().(object.Object)
	n.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	return n
}
