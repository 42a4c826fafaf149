package ctrlcache

import (
	"cmp"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/metrics"
	"github.com/flyball-io/flyball/run"
)

// exported has the metrics of all caches of a registry.
var exported struct {
	sync.Mutex
	by map[prometheus.Registerer]*metrics.Metrics
}

// metricsOf returns the metrics that a registry has. They are registered once. A registry that has metrics of
// the same names from elsewhere keeps those.
func metricsOf(r prometheus.Registerer, o Options) *metrics.Metrics {
	exported.Lock()
	defer exported.Unlock()
	if m := exported.by[r]; m != nil {
		return m
	}
	m := metrics.New(metrics.Options{WithoutRuntime: true, Logger: o.Logger})
	if err := r.Register(m.Registerer().(*prometheus.Registry)); err != nil {
		o.Logger.Warn("metrics of the cache are not registered", "err", err)
	}
	if exported.by == nil {
		exported.by = map[prometheus.Registerer]*metrics.Metrics{}
	}
	exported.by[r] = m
	return m
}

// register adds the metrics of a cache while it runs.
func register(c *Cache) (remove func()) { return metricsOf(c.o.Metrics, c.o).AddCache(c.Watches) }

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

// problem logs a problem of a handler, and reports it.
func (c *Cache) problem(p informer.Problem) {
	c.o.Logger.Error("handler panicked", "handler", p.Handler, "object", p.Key, "err", p.Err)
	if c.o.OnProblem != nil {
		_ = run.Safely("OnProblem", func() error { c.o.OnProblem(p); return nil })
	}
}
