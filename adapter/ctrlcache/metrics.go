package ctrlcache

import (
	"cmp"
	"slices"

	"github.com/flyball-io/flyball/adapter/internal/exported"
	"github.com/flyball-io/flyball/cache"
)

// register adds the metrics of a cache while it runs.
func register(c *Cache) (remove func()) {
	return exported.In(c.o.Metrics, c.o.Logger).AddCache(c.Watches)
}

// Watches returns the state and the figures of each watch, in the order of kinds.
func (c *Cache) Watches() []cache.Watch {
	var all []cache.Watch
	for _, w := range c.present() {
		f := w.in.Figures()
		f.Handlers = w.feed.Stats()
		all = append(all, cache.Watch{Kind: w.in.Kind(), Selection: w.in.Selection(), State: w.in.State(), Figures: f})
	}
	slices.SortFunc(all, func(a, b cache.Watch) int {
		return cmp.Or(cmp.Compare(a.Kind.GVK.String(), b.Kind.GVK.String()), cmp.Compare(a.Selection.String(), b.Selection.String()))
	})
	return all
}
