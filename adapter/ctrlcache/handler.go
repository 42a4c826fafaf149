package ctrlcache

import (
	"context"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// registration is one handler on the watches of an informer. Its goroutine makes all calls.
type registration struct {
	c       *Cache
	in      *Informer
	calls   calls
	sources []*informer.Registration
	synced  chan struct{}
	closed  chan struct{}
	wake    chan struct{} // holds one token while there are events

	mu        sync.Mutex
	backlog   backlog
	isClosed  bool
	delivered uint64
	panics    uint64
}

var (
	_ toolscache.ResourceEventHandlerRegistration = (*registration)(nil)
	_ toolscache.DoneChecker                      = (*registration)(nil)
)

// HasSynced implements toolscache.ResourceEventHandlerRegistration.
func (r *registration) HasSynced() bool { return toolscache.IsDone(r) }

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() toolscache.DoneChecker { return r }

// Name implements toolscache.DoneChecker.
func (r *registration) Name() string { return "handler of " + r.in.Name() }

// Done implements toolscache.DoneChecker.
func (r *registration) Done() <-chan struct{} { return r.synced }

// offer takes a change of a watch. It decodes nothing and never blocks.
func (r *registration) offer(w *watch, c store.Change) {
	r.push(newEvent(w.decoded, c))
}

func (r *registration) push(e *event) {
	r.mu.Lock()
	if !r.isClosed {
		r.backlog.push(e)
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *registration) next() *event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isClosed {
		return nil
	}
	return r.backlog.next()
}

// run makes the calls until ctx ends or the handler is removed.
func (r *registration) run(ctx context.Context) error {
	var wait sync.WaitGroup
	defer wait.Wait()
	wait.Go(func() { r.awaitSync(ctx) })
	for ctx.Err() == nil {
		if e := r.next(); e == nil {
			select {
			case <-r.wake:
			case <-r.closed:
				return nil
			case <-ctx.Done():
			}
		} else if e.mark {
			close(r.synced)
		} else {
			r.calls.deliver(e)
		}
	}
	return nil
}

// awaitSync pushes the mark when all sources have offered their initial objects.
func (r *registration) awaitSync(ctx context.Context) {
	for i, s := range r.sources {
		select {
		case <-s.Synced():
		case <-r.in.watches[i].ctx.Done():
			return
		case <-r.closed:
			return
		case <-ctx.Done():
			return
		}
	}
	r.push(&event{mark: true})
}

// call calls a function of the handler. A panic is reported, and ends nothing.
func (r *registration) call(key object.Key, f func()) {
	err := run.Safely("handler", func() error { f(); return nil })
	r.mu.Lock()
	r.delivered++
	if err != nil {
		r.panics++
	}
	r.mu.Unlock()
	if err != nil {
		r.c.problem(informer.Problem{Kind: r.in.key.gvk, Key: key, Handler: r.Name(), Err: err})
	}
}

// remove ends the calls. It does not wait for a running one.
func (r *registration) remove() {
	r.mu.Lock()
	if r.isClosed {
		r.mu.Unlock()
		return
	}
	r.isClosed = true
	r.backlog = backlog{}
	close(r.closed)
	r.mu.Unlock()
	for _, s := range r.sources {
		s.Remove()
	}
}
