package handlers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/informer"
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
	// OnProblem is called with each panic of the handler.
	OnProblem func(informer.Problem)
}

// Registration is one handler. Make it with New, join it to its feeds, and run it in a goroutine of its own,
// which makes all calls.
type Registration struct {
	o      Options
	calls  calls
	synced chan struct{}
	closed chan struct{}
	wake   chan struct{} // holds one token while there are events

	mu        sync.Mutex
	sources   []source
	backlog   backlog
	isClosed  bool
	delivered uint64
	panics    uint64
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

var (
	_ toolscache.ResourceEventHandlerRegistration = (*Registration)(nil)
	_ toolscache.DoneChecker                      = (*Registration)(nil)
)

// New returns a registration without feeds.
func New(h toolscache.ResourceEventHandler, o Options) *Registration {
	r := &Registration{
		o: o, backlog: backlog{limit: o.Backlog},
		synced: make(chan struct{}), closed: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	r.calls = calls{handler: h, call: r.call}
	return r
}

// HasSynced implements toolscache.ResourceEventHandlerRegistration.
func (r *Registration) HasSynced() bool { return toolscache.IsDone(r) }

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (r *Registration) HasSyncedChecker() toolscache.DoneChecker { return r }

// Name implements toolscache.DoneChecker.
func (r *Registration) Name() string { return r.o.Name }

// Done implements toolscache.DoneChecker.
func (r *Registration) Done() <-chan struct{} { return r.synced }

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

// Run makes the calls until ctx ends or the handler is removed.
func (r *Registration) Run(ctx context.Context) error {
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

// awaitSync pushes the mark when all feeds have offered their initial objects.
func (r *Registration) awaitSync(ctx context.Context) {
	r.mu.Lock()
	all := r.sources
	r.mu.Unlock()
	for _, s := range all {
		select {
		case <-s.Synced():
		case <-s.feed.ended.Done():
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
func (r *Registration) call(key object.Key, f func()) {
	err := run.Safely("handler", func() error { f(); return nil })
	r.mu.Lock()
	r.delivered++
	if err != nil {
		r.panics++
	}
	r.mu.Unlock()
	if err != nil {
		r.o.OnProblem(informer.Problem{Kind: r.o.Kind, Key: key, Handler: r.o.Name, Err: err})
	}
}

// Remove ends the calls. It does not wait for a running one.
func (r *Registration) Remove() {
	r.mu.Lock()
	if r.isClosed {
		r.mu.Unlock()
		return
	}
	r.isClosed = true
	r.backlog = backlog{}
	close(r.closed)
	all := r.sources
	r.mu.Unlock()
	leave(r, all)
}
