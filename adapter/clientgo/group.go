package clientgo

import (
	"context"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/cache"
)

// group starts the informers of a factory, and waits for them.
type group[K comparable] struct {
	*shared
	lock      sync.Mutex
	informers map[K]*Informer
	started   map[K]bool
	running   sync.WaitGroup
	shutDown  bool
}

func newGroup[K comparable](s *shared) group[K] {
	return group[K]{shared: s, informers: map[K]*Informer{}, started: map[K]bool{}}
}

// get returns the informer of a key, and makes it if there is none.
func (g *group[K]) get(key K, make func() *Informer) *Informer {
	g.lock.Lock()
	defer g.lock.Unlock()
	in := g.informers[key]
	if in == nil {
		in = make()
		g.informers[key] = in
	}
	return in
}

// StartWithContext starts the informers that were asked for since the last start. They run until ctx ends.
func (g *group[K]) StartWithContext(ctx context.Context) {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.shutDown {
		return
	}
	for key, in := range g.informers {
		if !g.started[key] {
			g.started[key] = true
			g.running.Go(func() { in.RunWithContext(ctx) })
		}
	}
}

// end lets no informer start any more, and waits for those that run.
func (g *group[K]) end() {
	g.lock.Lock()
	g.shutDown = true
	g.lock.Unlock()
	g.running.Wait()
}

// wait waits for the first lists of all started informers. One that cannot run is not waited for. The errors are
// those of the informers that have not synced.
func (g *group[K]) wait(ctx context.Context) (synced map[K]bool, errs []error) {
	all := map[K]*Informer{}
	g.lock.Lock()
	for key := range g.started {
		all[key] = g.informers[key]
	}
	g.lock.Unlock()
	var checkers []toolscache.DoneChecker
	for _, in := range all {
		if in.err == nil {
			checkers = append(checkers, in)
		}
	}
	toolscache.WaitFor(ctx, "", checkers...)
	synced = map[K]bool{}
	for key, in := range all {
		if synced[key] = in.HasSynced(); !synced[key] {
			errs = append(errs, in.Err())
		}
	}
	return synced, errs
}

// Watches returns the state and the figures of each informer that runs, in the order of kinds.
func (g *group[K]) Watches() []cache.Watch { return g.watches() }
