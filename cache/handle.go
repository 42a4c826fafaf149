package cache

import (
	"context"
	"sync"
	"time"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/store"
)

// Handle is one user's share of the informers of an open kind. Any goroutine may call its methods.
type Handle struct {
	cache *Cache
	kind  *openKind
	once  sync.Once
}

// Informer returns the current informer: a cache that ran and stopped makes a new one. For a kind
// with several namespaces it is the informer of the first; see Informers.
func (h *Handle) Informer() *informer.Informer { return h.kind.shares[0].informer() }

// Informers returns the current informers, one for each namespace with a watch of its own.
func (h *Handle) Informers() []*informer.Informer {
	all := make([]*informer.Informer, len(h.kind.shares))
	for i, s := range h.kind.shares {
		all[i] = s.informer()
	}
	return all
}

// Close releases the share. The last one ends the watch. It does not wait for that; Cache.Run does.
// Later calls do nothing.
func (h *Handle) Close() {
	h.once.Do(func() {
		h.cache.mu.Lock()
		defer h.cache.mu.Unlock()
		if h.kind.users--; h.kind.users == 0 {
			h.cache.closeKind(h.kind)
		}
	})
}

// Subscribe adds a source to every informer of the handle; see [informer.Informer.Subscribe]. Calls
// of different informers do not overlap. A subscription ends with the informers, or earlier with
// Close.
func (h *Handle) Subscribe(name string, call func(store.Change)) (*Subscription, error) {
	informers, one := h.Informers(), call
	if len(informers) > 1 && call != nil {
		var calls sync.Mutex
		one = func(c store.Change) {
			calls.Lock()
			defer calls.Unlock()
			call(c)
		}
	}
	return register(informers, func(in *informer.Informer) (*informer.Registration, error) { return in.Subscribe(name, one) })
}

// Subscription is a source or a handler on all informers of a handle.
type Subscription struct {
	informers []*informer.Informer
	regs      []*informer.Registration // one for each of informers, in their order
	synced    <-chan struct{}
	once      sync.Once
	closed    chan struct{}
	wait      sync.WaitGroup
}

// register adds something to each of the informers.
func register(informers []*informer.Informer, add func(*informer.Informer) (*informer.Registration, error)) (*Subscription, error) {
	s := &Subscription{informers: informers, closed: make(chan struct{})}
	for _, in := range informers {
		r, err := add(in)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.regs = append(s.regs, r)
	}
	if len(s.regs) == 1 {
		s.synced = s.regs[0].Synced()
		return s, nil
	}
	synced := make(chan struct{})
	s.synced = synced
	s.wait.Go(func() { s.await(synced) })
	return s, nil
}

// ResyncEvery reports every object again once in each period; see
// [informer.Registration.ResyncEvery].
func (s *Subscription) ResyncEvery(period time.Duration) {
	for _, r := range s.regs {
		r.ResyncEvery(period)
	}
}

// Resync reports every object again soon; see [informer.Registration.Resync].
func (s *Subscription) Resync() {
	for _, r := range s.regs {
		r.Resync()
	}
}

// await closes synced when every registration has synced. It returns without that if one never
// will.
func (s *Subscription) await(synced chan<- struct{}) {
	for i, r := range s.regs {
		select {
		case <-r.Synced():
		case <-s.informers[i].Done():
			return
		case <-s.closed:
			return
		}
	}
	close(synced)
}

// Synced is closed when the calls for all initial objects have returned. It stays open if the
// subscription is closed, or an informer stops, before that.
func (s *Subscription) Synced() <-chan struct{} { return s.synced }

// Waiting returns the watches for which Synced waits, by namespace; a watch of all namespaces has an empty one. The error
// is what currently prevents the watch from working, or nil. of is the number of all watches.
func (s *Subscription) Waiting() (watches map[string]error, of int) {
	watches = map[string]error{}
	for i, r := range s.regs {
		if !r.HasSynced() {
			watches[s.informers[i].Selection().Namespace] = s.informers[i].State().Err
		}
	}
	return watches, len(s.regs)
}

// Close ends the calls and returns when the last one has returned. Later calls do nothing. A call
// that closes its own subscription waits for itself.
func (s *Subscription) Close() {
	s.once.Do(func() { close(s.closed) })
	for _, r := range s.regs {
		_ = r.RemoveAndWait(context.Background()) // this ctx never ends
	}
	s.wait.Wait()
}
