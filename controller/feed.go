package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/internal/ctxkey"
	"github.com/flyball-io/flyball/internal/inline"
	"github.com/flyball-io/flyball/internal/overdue"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/workqueue"
)

// reopening is the backoff of opening a watch, and of calling the function of an outside source again.
var reopening = backoff.Policy{Base: time.Second, Max: 30 * time.Second, ResetAfter: 2 * time.Minute}

// again is the backoff of calling a handler again that failed.
var again = backoff.Policy{Base: 100 * time.Millisecond, Max: 5 * time.Minute}

// feed is one source of a running controller.
type feed[R comparable] struct {
	*running[R]
	source *Source[R]
	// waiting has, by key, the events that wait for the handler, in their order: all events of a source
	// that is not inline, and those on which the handler failed.
	waiting *workqueue.Queue[object.Key, []waiting]
	opened  chan struct{} // closed when the watch is open, or the outside source is started
	report  *reporter

	ctx     context.Context    // of handlers; set before the first call
	handler handler.Handler[R] // bound; set before the first call
	// first are the leading predicates that never block. They are asked on the goroutine that applies the
	// change. then are the others. A source is inline if then is empty and the handler never blocks. Set
	// before the first call.
	first, then []predicate.Predicate
	inline      bool
	calls       sync.Mutex // one call of the handler at a time
	gather      gather[R]  // guarded by calls
	add         func(R)    // is caused
	watch       *overdue.Watch[call]
	initial     initialEvents
	failures    failures
	outage      outage

	mu      sync.Mutex
	last    uint64    // number of the latest event
	unready time.Time // when the handler first failed on a cache that was not ready
	sub     Subscription
	subErr  error
}

// call is a call of the handler, or of a predicate that may block.
type call struct {
	part string
	key  object.Key
}

func newFeed[R comparable](r *running[R], s *Source[R]) (*feed[R], error) {
	f := &feed[R]{
		running: r, source: s, handler: s.handler,
		opened: make(chan struct{}),
		report: newReporter(r.name, r.o, r.logger, s.String()),
	}
	var err error
	if f.waiting, err = workqueue.New(workqueue.Options[object.Key, []waiting]{
		Merge:       mergeWaiting,
		RateLimiter: workqueue.ExponentialLimiter[object.Key](again.Base, again.Max),
	}); err != nil {
		return nil, err
	}
	f.add = f.caused
	f.watch = overdue.New(overdue.After, f.overdue)
	n := 0
	for n < len(s.predicates) && inline.NeverBlocks(s.predicates[n]) {
		n++
	}
	f.first, f.then = s.predicates[:n], s.predicates[n:]
	return f, nil
}

// run calls the handler for the events that wait. It ends with stop for an outside source, and with ctx for a
// watch.
func (f *feed[R]) run(stop, ctx context.Context) error {
	defer f.watch.Stop()
	if f.source.outside != nil {
		f.work(stop)
		return nil
	}
	f.ctx = context.WithValue(ctx, ctxkey.Queue{}, f.queue)
	sub := f.open(stop)
	if sub == nil {
		return nil
	}
	defer sub.Close()
	f.work(ctx)
	return nil
}

// work processes the waiting events, one key after another, until ctx ends.
func (f *feed[R]) work(ctx context.Context) {
	for item, ok := f.waiting.Get(ctx); ok; item, ok = f.waiting.Next(ctx, item.Key) {
		last, failed := item.Value[len(item.Value)-1].number, item.Value[:0]
		for _, w := range item.Value {
			if !f.process(w) {
				w.passed = true
				failed = append(failed, w)
			}
		}
		f.retry(item.Key, last, failed)
		f.initial.handled(item.Key)
	}
}

// process asks the predicates that may block, and calls the handler. It reports false if the event must be processed
// again later.
func (f *feed[R]) process(w waiting) bool {
	switch {
	case w.object != nil:
		return f.generic(w.object)
	case w.passed || f.matchSlowly(w.change):
		return f.handle(w.change)
	}
	return true
}

// matchSlowly asks the predicates that may block.
func (f *feed[R]) matchSlowly(c store.Change) bool {
	if len(f.then) == 0 || c.Resync {
		return true
	}
	f.watch.Begin(call{partPredicate, c.Key})
	defer f.watch.End()
	return f.matchAll(f.then, c)
}

// retry queues the failed ones of the events up to number last again, after a delay that grows. Without
// failed ones it resets the delay.
func (f *feed[R]) retry(key object.Key, last uint64, failed []waiting) {
	if len(failed) == 0 {
		f.failures.resolved(key, last)
		f.waiting.Forget(key)
		return
	}
	f.failures.pending(key, last)
	f.waiting.AddWith(key, workqueue.AddOptions[[]waiting]{RateLimited: true, Value: failed})
}

// queueEvent queues an event for the handler, behind the waiting ones.
func (f *feed[R]) queueEvent(key object.Key, w waiting) {
	f.mu.Lock()
	f.last++
	w.number = f.last
	f.mu.Unlock()
	if w.passed {
		f.retry(key, w.number, []waiting{w})
		return
	}
	f.initial.queued(key)
	f.waiting.AddWith(key, workqueue.AddOptions[[]waiting]{Value: []waiting{w}})
}

// open subscribes, and tries again after a failure. It returns nil when stop ends.
func (f *feed[R]) open(stop context.Context) Subscription {
	b := backoff.Backoff{Policy: reopening}
	for {
		sub, err := f.subscribe(stop)
		f.mu.Lock()
		f.sub, f.subErr = sub, err
		f.mu.Unlock()
		if err == nil {
			if f.o.Resync > 0 && f.isMain() {
				sub.ResyncEvery(f.o.Resync)
			}
			close(f.opened)
			return sub
		}
		if run.Sleep(stop, b.Fail(time.Now())) != nil {
			return nil
		}
	}
}

// isMain reports whether the objects of the source are those that the controller is about: of For, or of all sources
// if there is no For.
func (f *feed[R]) isMain() bool {
	return f.source.isFor || !slices.ContainsFunc(f.sources, func(s Source[R]) bool { return s.isFor })
}

func (f *feed[R]) subscribe(ctx context.Context) (sub Subscription, err error) {
	mgr := f.source.from
	err = run.Safely(f.source.String(), func() error {
		if b, ok := f.source.handler.(handler.Binder[R]); ok {
			if f.handler, err = b.Bind(ctx, mgr.Scheme(), mgr.Mapper()); err != nil {
				return err
			}
		}
		f.inline = len(f.then) == 0 && inline.NeverBlocks(f.handler)
		sub, err = mgr.Subscribe(ctx, f.source.proto, f.name+" "+f.source.String(), f.changed)
		return err
	})
	return sub, err
}

// receive calls the function of an outside source until stop ends or it returns nil.
func (f *feed[R]) receive(stop context.Context) {
	b := backoff.Backoff{Policy: reopening}
	to := sink[R]{object: f.outside, request: f.request}
	for {
		f.outage.begin(time.Now())
		err := run.Safely(f.source.String(), func() error { return f.source.outside(stop, to) })
		if err == nil || stop.Err() != nil {
			return
		}
		f.outage.fail(time.Now(), err)
		f.report.problem(partSource, err)
		if run.Sleep(stop, b.Fail(time.Now())) != nil {
			return
		}
	}
}

// wait returns a channel that is closed at the next step towards sync: the source is open, it has handed over
// its existing objects, the handler was called for all of them. It returns nil after the last step.
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
		return f.initial.complete()
	default:
		return f.sub.Synced()
	}
}

// watches are those that have not synced, as Subscription.Waiting has them. A source of events from outside has no
// watches. One that is not open counts as one watch.
func (f *feed[R]) watches() (waiting map[string]error, of int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.source.outside != nil:
		return nil, 0
	case f.sub == nil:
		return map[string]error{"": f.subErr}, 1
	}
	return f.sub.Waiting()
}

// overdue reports a call that has taken a second.
func (f *feed[R]) overdue(c call, began time.Time) {
	f.report.problem(c.part, &OverdueError{Part: c.part, Key: c.key, For: time.Since(began)})
}

// changed takes every change of the watched kind, on the goroutine that applied it.
func (f *feed[R]) changed(c store.Change) {
	switch {
	case !c.Resync && !f.matchAll(f.first, c):
	case !f.inline:
		f.queueEvent(c.Key, waiting{change: compact(c)})
	case !f.handle(c):
		f.queueEvent(c.Key, waiting{change: compact(c), passed: true})
	}
}

// matchAll asks predicates about a change until one reports false.
func (f *feed[R]) matchAll(all []predicate.Predicate, c store.Change) bool {
	for _, p := range all {
		if !f.matches(func() (bool, error) { return p.Match(c) }) {
			return false
		}
	}
	return true
}

// outside takes every object from outside the cluster. If the handler fails on an event of a key on which it has failed
// already, the source waits: none is lost.
func (f *feed[R]) outside(o object.Object) {
	if !f.matchGeneric(o) || f.generic(o) {
		return
	}
	b := backoff.Backoff{Policy: again}
	for f.failures.waits(object.KeyOf(o)) {
		if run.Sleep(f.ctx, b.Fail(time.Now())) != nil || f.generic(o) {
			return
		}
	}
	f.queueEvent(object.KeyOf(o), waiting{object: o, passed: true})
}

func (f *feed[R]) matchGeneric(o object.Object) bool {
	f.calls.Lock()
	defer f.calls.Unlock()
	f.watch.Begin(call{partPredicate, object.KeyOf(o)})
	defer f.watch.End()
	for _, p := range f.source.predicates {
		if !f.matches(func() (bool, error) { return p.MatchGeneric(o) }) {
			return false
		}
	}
	return true
}

// generic queues the requests of the handler for an object from outside. It reports false if the handler must be
// called again later.
func (f *feed[R]) generic(o object.Object) bool {
	cause := reconcile.Cause{
		Trigger: reconcile.Generic, Kind: f.source.gvk,
		Key: object.KeyOf(o), ResourceVersion: o.GetResourceVersion(), Count: 1,
	}
	err := run.Safely("handler", func() error {
		f.calls.Lock()
		defer f.calls.Unlock()
		f.watch.Begin(call{partHandler, cause.Key})
		defer f.watch.End()
		return f.handler.HandleGeneric(f.ctx, o, func(req R) { f.enqueue(req, cause) })
	})
	if err == nil {
		f.failures.succeed()
		return true
	}
	err = fmt.Errorf("%s: %w", cause.Key, err)
	f.report.problem(partHandler, err)
	if _, mistyped := errors.AsType[*handler.TypeError](err); mistyped || errors.Is(err, handler.ErrNoGeneric) { // another call cannot help
		return true
	}
	f.failures.fail(time.Now(), err)
	return false
}

// matches asks one predicate. An event passes a predicate that fails or panics: a superfluous reconcile is
// harmless, a missing one is not.
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

// handle queues the requests of the handler for a change. It reports false if the handler failed and must be
// called again later. Another call cannot help if the object of the change cannot be read.
func (f *feed[R]) handle(c store.Change) bool {
	err := run.Safely("handler", func() error {
		f.calls.Lock()
		defer f.calls.Unlock()
		if !f.inline {
			f.watch.Begin(call{partHandler, c.Key})
			defer f.watch.End()
		}
		f.gather.begin(causeOf(c, f.source.gvk))
		if !c.Initial || f.gather.direct {
			defer f.flush()
		}
		return f.handler.Handle(f.ctx, c, f.add)
	})
	if err == nil {
		f.failures.succeed()
		return true
	}
	why := unreadable(err, c, f.source.gvk.Kind)
	named := fmt.Errorf("%s: %w", c.Key, err)
	if why == readable {
		f.failures.fail(time.Now(), named)
	}
	if why != rejected && !f.patient(err, time.Now()) { // the informer has reported objects that are rejected
		f.report.problem(partHandler, named)
	}
	return why != readable
}

// patience is how long a handler may fail on caches that are not ready without a report. When a program starts
// its caches sync one after another.
const patience = 10 * time.Second

// patient reports whether err is due to a cache that is not ready, and the first such error was less than
// patience ago.
func (f *feed[R]) patient(err error, now time.Time) bool {
	if !errors.Is(err, object.ErrNoAnswer) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unready.IsZero() {
		f.unready = now
	}
	return now.Sub(f.unready) < patience
}

// fault tells whether a handler failed because the object of the change cannot be read.
type fault uint8

const (
	readable    fault = iota // no: something else failed
	undecodable              // yes: it cannot be decoded until it changes
	rejected                 // yes, and the informer has rejected it
)

// unreadable classifies the error of a handler. Of joined errors all must be due to the object.
func unreadable(err error, c store.Change, kind string) fault {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		worst := rejected
		for _, e := range joined.Unwrap() {
			worst = min(worst, unreadable(e, c, kind))
		}
		return worst
	}
	for _, e := range []*store.Entry{c.Old, c.New, c.Last} {
		if e != nil && e.Err() != nil && errors.Is(err, e.Err()) {
			return rejected
		}
	}
	if _, panicked := errors.AsType[*run.PanicError](err); panicked {
		return readable
	}
	if _, other := errors.AsType[*store.RejectedError](err); other {
		return readable // the handler read another object
	}
	if d, ok := errors.AsType[*wire.DecodeError](err); ok && d.Kind.Kind == kind && (d.Key == c.Key || d.Key == object.Key{}) {
		return undecodable
	}
	return readable
}

// causeOf is the cause of the requests of a change.
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
