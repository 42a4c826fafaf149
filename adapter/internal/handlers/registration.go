package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/internal/synced"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Options are those of a Registration.
type Options struct {
	// Name names the handler in errors and problems, and Kind its objects.
	Name string
	Kind schema.GroupVersionKind
	// Backlog is the number of pending events up to which every event is delivered. Beyond it the events of
	// one key merge.
	Backlog int
	// OnProblem is called with each panic of the handler, and when it ends its goroutine. Nil: none.
	OnProblem func(informer.Problem)
	// Logger gets these problems, five at once and then one a minute.
	Logger *slog.Logger
}

// Registration is one handler. Make it with New, join it to its feeds, and run it. No two calls overlap.
type Registration struct {
	*synced.Signal // that the first list has been delivered
	o              Options
	calls          calls
	closed         chan struct{}
	wake           chan struct{} // holds one token while there are events
	ended          chan struct{} // closed when no call can follow

	// The goroutine that makes the calls owns these.
	due   []due // calls of the present event, from at
	at    int
	lines logguard.Throttle // about panics

	mu        sync.Mutex
	sources   []source
	backlog   backlog
	isRunning bool
	isClosed  bool
	delivered uint64
	panics    uint64
}

// due is a call that an event causes.
type due struct {
	key object.Key
	f   func()
}

// source is what brings the changes of a feed.
type source struct {
	*informer.Registration
	feed *Feed
}

// Join is a feed of a handler. Resync is the period of resyncs; zero or negative means none, and the minimum is
// a second.
type Join struct {
	Feed   *Feed
	Resync time.Duration
}

var _ toolscache.ResourceEventHandlerRegistration = (*Registration)(nil)

// New returns a registration without feeds.
func New(h toolscache.ResourceEventHandler, o Options) *Registration {
	r := &Registration{
		o: o, backlog: backlog{limit: o.Backlog},
		Signal: synced.New(o.Name), closed: make(chan struct{}), wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	r.calls = calls{handler: h, call: func(key object.Key, f func()) { r.due = append(r.due, due{key, f}) }}
	return r
}

// Name is that of the options.
func (r *Registration) Name() string { return r.o.Name }

// ShutdownChan is closed when the handler is removed and its last call has returned, or Run has returned. It is
// what toolscache.ShutDownEventHandler waits for.
func (r *Registration) ShutdownChan() <-chan struct{} { return r.ended }

// Join subscribes the handler to its feeds. Call it once, before Run. If a feed has ended, it removes the
// handler and returns the cause.
func (r *Registration) Join(all ...Join) error {
	var sources []source
	for _, j := range all {
		s, err := j.Feed.in.Subscribe(r.o.Name, func(c store.Change) { r.push(newEvent(j.Feed.decoded, c)) })
		if j.Feed.ended.Err() != nil {
			err = fmt.Errorf("%s: %w", r.o.Name, context.Cause(j.Feed.ended))
		}
		sources = append(sources, source{s, j.Feed})
		if err != nil {
			r.hold(sources)
			r.Remove()
			return err
		}
		if j.Resync > 0 {
			s.ResyncEvery(max(j.Resync, time.Second))
		}
	}
	r.hold(sources)
	for _, s := range sources {
		if err := s.feed.add(r); err != nil {
			r.Remove()
			return fmt.Errorf("%s: %w", r.o.Name, err)
		}
	}
	return nil
}

// Stats are the figures of the handler.
func (r *Registration) Stats() informer.Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return informer.Stats{Pending: r.backlog.len(), Merged: r.backlog.merged, Delivered: r.delivered, Panics: r.panics}
}

// hold keeps the sources, or removes them if the handler is removed.
func (r *Registration) hold(all []source) {
	r.mu.Lock()
	r.sources = all
	isClosed := r.isClosed
	r.mu.Unlock()
	if isClosed {
		leave(r, all)
	}
}

func leave(r *Registration, all []source) {
	for _, s := range all {
		s.Remove()
		s.feed.drop(r)
	}
}

// push takes an event of a feed. It decodes nothing and never blocks.
func (r *Registration) push(e *event) {
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

func (r *Registration) removed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isClosed
}

func (r *Registration) next() *event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isClosed {
		return nil
	}
	return r.backlog.next()
}

// Run makes the calls until ctx ends or the handler is removed. A call that ends its goroutine, as t.FailNow
// does, is reported; the next one has another goroutine. Run is called once.
func (r *Registration) Run(ctx context.Context) error {
	r.mu.Lock()
	if r.isClosed {
		r.mu.Unlock()
		return nil
	}
	r.isRunning = true
	r.mu.Unlock()
	defer close(r.ended)
	var wait sync.WaitGroup
	defer wait.Wait()
	wait.Go(func() { r.awaitSync(ctx) })
	for {
		var err error
		left := true
		done := make(chan struct{})
		go func() {
			defer close(done)
			err = run.Safely(r.o.Name, func() error { r.loop(ctx); return nil })
			left = false
		}()
		if <-done; !left {
			return err
		}
	}
}

// loop makes the calls.
func (r *Registration) loop(ctx context.Context) {
	for ctx.Err() == nil {
		if r.at < len(r.due) {
			c := r.due[r.at]
			r.due[r.at] = due{}
			if r.at++; r.removed() {
				return
			}
			r.call(c.key, c.f)
			continue
		}
		r.due, r.at = r.due[:0], 0
		if e := r.next(); e == nil {
			select {
			case <-r.wake:
			case <-r.closed:
				return
			case <-ctx.Done():
			}
		} else if e.mark {
			r.Set()
		} else {
			r.calls.deliver(e)
		}
	}
}

// awaitSync pushes the mark when all feeds have offered their initial objects.
func (r *Registration) awaitSync(ctx context.Context) {
	if r.AwaitOffer(ctx) {
		r.push(&event{mark: true})
	}
}

// AwaitOffer waits until all feeds have offered their initial objects. It is false if ctx, the handler or a feed ends
// before that.
func (r *Registration) AwaitOffer(ctx context.Context) bool {
	r.mu.Lock()
	all := r.sources
	r.mu.Unlock()
	for _, s := range all {
		select {
		case <-s.Synced():
		case <-s.feed.ended.Done():
			return false
		case <-r.closed:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// call calls a function of the handler. A panic is reported, and ends nothing.
func (r *Registration) call(key object.Key, f func()) {
	err := run.ErrGoexit
	defer func() {
		r.mu.Lock()
		r.delivered++
		if err != nil {
			r.panics++
		}
		r.mu.Unlock()
		if err != nil {
			r.report(key, err)
		}
	}()
	err = run.Safely("handler", func() error { f(); return nil })
}

// report reports a call that did not return.
func (r *Registration) report(key object.Key, err error) {
	if r.o.OnProblem != nil {
		p := informer.Problem{Kind: r.o.Kind, Key: key, Handler: r.o.Name, Err: err}
		_ = run.Safely("OnProblem", func() error { r.o.OnProblem(p); return nil })
	}
	r.lines.Next(r.o.Logger).Error("handler panicked", logguard.ErrAttrs(err, "handler", r.o.Name, "object", key.String())...)
}

// Remove ends the calls, and does not wait. It drops all pending events. A call that has begun goes on, and one
// that is about to begin may still do so; ShutdownChan tells when it has returned.
func (r *Registration) Remove() {
	r.mu.Lock()
	if r.isClosed {
		r.mu.Unlock()
		return
	}
	r.isClosed = true
	r.backlog = backlog{}
	close(r.closed)
	if !r.isRunning {
		close(r.ended)
	}
	all := r.sources
	r.mu.Unlock()
	leave(r, all)
}
