package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/backoff"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/wire"
	"github.com/flyball-io/flyball/workqueue"
)

// handlerTries is how often a handler is called with one change before it is given up; with the
// delays between, that is after about half an hour.
const handlerTries = 16

// reopening spaces the attempts to open a watch, or an outside source that failed.
var reopening = backoff.Policy{Base: time.Second, Max: 30 * time.Second, ResetAfter: 2 * time.Minute}

// feed is one source of a running controller.
type feed[R comparable] struct {
	*running[R]
	source *Source[R]
	// again has the changes on which the handler failed: a few for each key, beyond that merged.
	again  *workqueue.Queue[object.Key, []store.Change]
	opened chan struct{} // closed when the watch is open, or the outside source is started
	report *reporter

	ctx     context.Context    // of handlers; set before the first call
	handler handler.Handler[R] // bound; set before the first call
	calls   sync.Mutex         // makes the calls of the handler one after another
	gather  gather[R]          // guarded by calls
	add     func(R)            // is caused

	mu     sync.Mutex
	sub    Subscription
	subErr error
}

func newFeed[R comparable](r *running[R], s *Source[R]) (*feed[R], error) {
	again, err := workqueue.New(workqueue.Options[object.Key, []store.Change]{
		Merge:       mergeFailed,
		RateLimiter: workqueue.ExponentialLimiter[object.Key](100*time.Millisecond, 5*time.Minute),
	})
	if err != nil {
		return nil, err
	}
	f := &feed[R]{
		running: r, source: s, again: again, handler: s.handler,
		opened: make(chan struct{}),
		report: newReporter(r.name, r.o, r.logger, s.String()),
	}
	f.add = f.caused
	return f, nil
}

// failedKept is how many changes of a key are kept apart for the handler to be called with again.
const failedKept = 8

// mergeFailed keeps the latest changes as they were: a state between two others, too, may be that
// of a child whose owner waits to hear of it.
func mergeFailed(first, then []store.Change) []store.Change {
	all := slices.Concat(first, then)
	for len(all) > failedKept {
		all[1] = mergeChanges(all[0], all[1])
		all = all[1:]
	}
	return all
}

// mergeChanges is what happened from before the one change until after the other.
func mergeChanges(first, then store.Change) store.Change {
	if first.Old != nil {
		then.Old = first.Old
	}
	return then
}

// run feeds the queue: an outside source until stop ends, a watch until ctx does.
func (f *feed[R]) run(stop, ctx context.Context) error {
	f.ctx = ctx
	if f.source.outside != nil {
		f.ctx = stop
		close(f.opened)
		f.receive(stop)
		return nil
	}
	sub := f.open(stop)
	if sub == nil {
		return nil
	}
	defer sub.Close()
	for {
		item, ok := f.again.Get(ctx)
		if !ok {
			return nil
		}
		for _, c := range item.Value {
			f.handle(c)
		}
		f.again.Done(item.Key)
	}
}

// open subscribes, and tries again until stop ends; nil then.
func (f *feed[R]) open(stop context.Context) Subscription {
	b := backoff.Backoff{Policy: reopening}
	for {
		sub, err := f.subscribe(stop)
		f.mu.Lock()
		f.sub, f.subErr = sub, err
		f.mu.Unlock()
		if err == nil {
			close(f.opened)
			return sub
		}
		if run.Sleep(stop, b.Fail(time.Now())) != nil {
			return nil
		}
	}
}

func (f *feed[R]) subscribe(ctx context.Context) (sub Subscription, err error) {
	err = run.Safely(f.source.String(), func() error {
		if b, ok := f.source.handler.(handler.Binder[R]); ok {
			if f.handler, err = b.Bind(ctx, f.mgr.Scheme(), f.mgr.Mapper()); err != nil {
				return err
			}
		}
		sub, err = f.mgr.Subscribe(ctx, f.source.proto, f.name+" "+f.source.String(), f.changed)
		return err
	})
	return sub, err
}

// receive runs an outside source until stop ends or it has nothing more.
func (f *feed[R]) receive(stop context.Context) {
	b := backoff.Backoff{Policy: reopening}
	to := sink[R]{object: f.outside, request: f.request}
	for {
		err := run.Safely(f.source.String(), func() error { return f.source.outside(stop, to) })
		if err == nil || stop.Err() != nil {
			return
		}
		f.report.problem(partSource, err)
		if run.Sleep(stop, b.Fail(time.Now())) != nil {
			return
		}
	}
}

// wait returns what to wait for until the source has handed over what existed at the start: first
// that it is open, then that it has synced; nil when both are so.
func (f *feed[R]) wait() <-chan struct{} {
	select {
	case <-f.opened:
	default:
		return f.opened
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sub == nil {
		return nil
	}
	select {
	case <-f.sub.Synced():
		return nil
	default:
		return f.sub.Synced()
	}
}

// err is what keeps the source from working, if that is known.
func (f *feed[R]) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sub == nil {
		return f.subErr
	}
	return f.sub.Err()
}

// changed is called with every change of the watched kind, on the goroutine that applied it.
func (f *feed[R]) changed(c store.Change) {
	for _, p := range f.source.predicates {
		if !f.matches(func() (bool, error) { return p.Match(c) }) {
			return
		}
	}
	f.handle(c)
}

// outside is called with every object that came from outside the cluster.
func (f *feed[R]) outside(o object.Object) {
	for _, p := range f.source.predicates {
		if !f.matches(func() (bool, error) { return p.MatchGeneric(o) }) {
			return
		}
	}
	cause := reconcile.Cause{
		Trigger: reconcile.Generic, Kind: f.source.gvk,
		Key: object.KeyOf(o), ResourceVersion: o.GetResourceVersion(), Count: 1,
	}
	err := run.Safely("handler", func() error {
		return f.handler.HandleGeneric(f.ctx, o, func(req R) { f.enqueue(req, cause) })
	})
	if err != nil {
		f.report.problem(partHandler, fmt.Errorf("%s: %w", cause.Key, err))
	}
}

// matches asks one predicate. One that fails or panics lets the event pass: better one reconcile
// too many than one too few.
func (f *feed[R]) matches(ask func() (bool, error)) bool {
	var ok bool
	err := run.Safely("predicate", func() (err error) {
		ok, err = ask()
		return err
	})
	if err != nil {
		f.report.problem(partPredicate, err)
		return true
	}
	return ok
}

// handle queues what the handler says of a change. A handler that fails is called again later,
// unless it is the object that cannot be read.
func (f *feed[R]) handle(c store.Change) {
	err := run.Safely("handler", func() error {
		f.calls.Lock()
		defer f.calls.Unlock()
		f.gather.begin(causeOf(c, f.source.gvk))
		if !c.Initial || f.gather.direct {
			defer f.flush()
		}
		return f.handler.Handle(f.ctx, c, f.add)
	})
	if err == nil {
		f.again.Forget(c.Key)
		return
	}
	var panicked *run.PanicError
	isPanic := errors.As(err, &panicked)
	if setAside(c) && !isPanic {
		return // the informer has reported the object, and the handler sees it when it changes
	}
	var undecodable *wire.DecodeError
	if errors.As(err, &undecodable) && !isPanic {
		f.report.problem(partHandler, fmt.Errorf("%s: %w", c.Key, err))
		return // it stays so until the object changes
	}
	err = fmt.Errorf("%s: %w", c.Key, err)
	if f.again.NumRequeues(c.Key) >= handlerTries {
		f.again.Forget(c.Key)
		f.report.problem(partHandler, fmt.Errorf("given up: %w", err))
		return
	}
	f.report.problem(partHandler, err)
	f.again.AddWith(c.Key, workqueue.AddOptions[[]store.Change]{RateLimited: true, Value: []store.Change{c}})
}

// causeOf says what a change is to those that it causes.
func causeOf(c store.Change, kind schema.GroupVersionKind) reconcile.Cause {
	cause := reconcile.Cause{Kind: kind, Key: c.Key, Count: 1}
	e := c.New
	switch {
	case c.New == nil:
		cause.Trigger, e = reconcile.Deleted, c.Last
	case c.Resync:
		cause.Trigger = reconcile.Resynced
	case c.Initial:
		cause.Trigger = reconcile.Listed
	case c.Old == nil:
		cause.Trigger = reconcile.Created
	default:
		cause.Trigger = reconcile.Updated
	}
	if e != nil {
		cause.ResourceVersion = e.ResourceVersion()
	}
	return cause
}

func setAside(c store.Change) bool {
	for _, e := range []*store.Entry{c.Old, c.New, c.Last} {
		if e != nil && e.Err() != nil {
			return true
		}
	}
	return false
}
