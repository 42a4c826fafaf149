package clientgo

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/internal/handlers"
	"github.com/flyball-io/flyball/informer"
)

// minimumResync is the shortest period of resyncs.
const minimumResync = time.Second

// registration is a handler of an informer.
type registration struct {
	*handlers.Registration
	in     *Informer
	resync time.Duration
}

// AddEventHandler implements SharedInformer. The handler is resynced in the period of the informer.
func (in *Informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return in.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements SharedInformer. Resyncs are spread over the period. Zero or negative:
// none. An informer without a period of its own resyncs no handler, and once it is started none more often than
// itself, as in client-go.
func (in *Informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return in.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions implements SharedInformer. The Logger gets the panics of the handler. When the informer
// has synced, the call waits until the objects wait for the handler, as in client-go: otherwise callers that never
// stop adding handlers could hold up the changes for all others.
func (in *Informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	r, err := in.addEventHandler(h, o)
	if err != nil {
		return nil, err
	}
	if in.HasSynced() {
		r.AwaitOffer(context.Background()) // it ends with the informer
	}
	return r, nil
}

func (in *Informer) addEventHandler(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (*registration, error) {
	if h == nil {
		return nil, fmt.Errorf("clientgo: the handler of %s is nil", in.Name())
	}
	log := in.s.c.Logger
	if o.Logger != nil {
		log = slog.New(logr.ToSlogHandler(*o.Logger))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err != nil {
		return nil, in.err
	}
	if in.stopped || in.ctx != nil && in.ctx.Err() != nil {
		return nil, stoppedError(h) // programs look for the words of client-go
	}
	period := in.spec.resync
	if o.ResyncPeriod != nil {
		period = *o.ResyncPeriod
	}
	r := &registration{in: in, resync: in.period(period, log)}
	r.Registration = handlers.New(h, handlers.Options{
		Name: fmt.Sprintf("handler %T, %s", h, in.Name()), Kind: in.spec.gvk, Backlog: in.s.c.HandlerBacklog,
		OnProblem: in.s.c.OnProblem, Logger: log,
	})
	if in.feed != nil {
		if err := in.join(r); err != nil {
			return nil, stoppedError(h)
		}
	}
	in.handlers[r] = struct{}{}
	return r, nil
}

func stoppedError(h toolscache.ResourceEventHandler) error {
	return fmt.Errorf("clientgo: handler %T was not added to shared informer because it has stopped already", h)
}

// period returns the resync period of a handler. in.mu is held.
func (in *Informer) period(wanted time.Duration, log *slog.Logger) time.Duration {
	switch {
	case wanted <= 0:
		return 0
	case in.resync <= 0:
		log.Warn("the handler is not resynced, since its informer has no resync period", "informer", in.Name())
		return 0
	}
	wanted = max(wanted, minimumResync)
	if in.group == nil {
		in.resync = min(in.resync, wanted)
	}
	return max(wanted, in.resync)
}

// join brings the changes to a handler, and starts its calls. in.mu is held.
func (in *Informer) join(r *registration) error {
	if err := r.Join(handlers.Join{Feed: in.feed, Resync: r.resync}); err != nil {
		return err
	}
	if !in.group.Go(r.Name(), r.Run) {
		r.Remove()
		return stoppedError(nil)
	}
	return nil
}

// RemoveEventHandler implements SharedInformer. It does not wait: a call that has begun, or is about to, finishes.
// [toolscache.ShutDownEventHandler] waits for it. A handle of another informer is left alone, as in client-go.
func (in *Informer) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("clientgo: %s: a %T is no handle of a packed informer", in.Name(), handle)
	}
	if r.in != in {
		return nil
	}
	in.mu.Lock()
	delete(in.handlers, r)
	in.mu.Unlock()
	r.Remove()
	return nil
}

// Handler is a handler of an informer, with its figures.
type Handler struct {
	Registration toolscache.ResourceEventHandlerRegistration
	Stats        informer.Stats
}

// Handlers returns the present handlers of the informer, in no order.
func (in *Informer) Handlers() []Handler {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all []Handler
	for r := range in.handlers {
		all = append(all, Handler{r, r.Stats()})
	}
	return all
}
