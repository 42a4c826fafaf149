package clientgo

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/adapter/internal/exported"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/reflector"
)

// shared is what the informers of a factory have in common.
type shared struct {
	c     *config
	conn  *connection
	lists *reflector.Limiter

	mu       sync.Mutex
	budgets  map[schema.GroupVersionKind]*informer.Budget
	running  map[*Informer]struct{}
	withdraw func() // removes the metrics, while informers run
}

func newShared(c *config, conn *connection) *shared {
	return &shared{
		c: c, conn: conn,
		lists:   reflector.NewLimiter(reflector.LimiterOptions{}),
		budgets: map[schema.GroupVersionKind]*informer.Budget{},
		running: map[*Informer]struct{}{},
	}
}

// informerOptions are for a kind and a selection. The namespace stays with a kind that has none now: the feed ignores it,
// until the definition of the kind is made again with namespaces.
func (s *shared) informerOptions(kind informer.Kind, sel client.Selection) informer.Options {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.budgets[kind.GVK] == nil {
		s.budgets[kind.GVK] = &informer.Budget{Bytes: s.c.MemoryBudget}
	}
	o := informer.Options{
		Kind: kind, Selection: sel, KeepManagedFields: !s.c.CutManagedFields, GoHeap: s.c.GoHeap,
		Budget: s.budgets[kind.GVK], Audit: s.c.Audit,
		OnProblem: s.c.OnProblem, Logger: s.c.Logger,
	}
	o.Reflector.Limiter = s.lists
	return o
}

// enter counts a running informer. leave closes idle connections when the last one has ended.
func (s *shared) enter(in *Informer) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[in] = struct{}{}; len(s.running) == 1 && s.c.Metrics != nil {
		s.withdraw = exported.In(s.c.Metrics, s.c.Logger).AddCache(s.watches)
	}
	return func() {
		s.mu.Lock()
		delete(s.running, in)
		last, withdraw := len(s.running) == 0, s.withdraw
		if last {
			s.withdraw = nil
		}
		s.mu.Unlock()
		if !last {
			return
		}
		if withdraw != nil {
			withdraw()
		}
		s.conn.close()
	}
}

// watches returns the figures of the informers that run, in the order of kinds.
func (s *shared) watches() []cache.Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []cache.Watch
	for in := range s.running {
		packed := in.packed.Load()
		if packed == nil {
			continue
		}
		f := packed.Figures()
		for _, h := range in.Handlers() {
			f.Handlers.Pending += h.Stats.Pending
			f.Handlers.Merged += h.Stats.Merged
			f.Handlers.Delivered += h.Stats.Delivered
			f.Handlers.Panics += h.Stats.Panics
		}
		all = append(all, cache.Watch{Kind: packed.Kind(), Selection: packed.Selection(), State: packed.State(), Figures: f})
	}
	slices.SortFunc(all, func(a, b cache.Watch) int {
		return cmp.Or(cmp.Compare(a.Kind.GVK.String(), b.Kind.GVK.String()), cmp.Compare(a.Selection.String(), b.Selection.String()))
	})
	return all
}
