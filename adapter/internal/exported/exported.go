// Package exported registers the metrics of packed caches in the registry of a program.
package exported

import (
	"log/slog"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyball-io/flyball/ops/metrics"
)

// exported has the metrics of all caches of a registry.
var exported struct {
	sync.Mutex
	by map[prometheus.Registerer]*metrics.Metrics
}

// own is the part of the metrics that have names of Flyball. Those with the names of controller-runtime and
// client-go, which such a registry has already, say nothing of a cache.
type own struct{ all prometheus.Collector }

// Describe implements prometheus.Collector.
func (o own) Describe(to chan<- *prometheus.Desc) {
	filter(o.all.Describe, to, func(d *prometheus.Desc) *prometheus.Desc { return d })
}

// Collect implements prometheus.Collector.
func (o own) Collect(to chan<- prometheus.Metric) { filter(o.all.Collect, to, prometheus.Metric.Desc) }

// filter sends on what a function sends of Flyball's names.
func filter[T any](from func(chan<- T), to chan<- T, desc func(T) *prometheus.Desc) {
	all := make(chan T)
	go func() {
		defer close(all)
		from(all)
	}()
	for x := range all {
		// A Desc tells its name in its text alone.
		if strings.HasPrefix(desc(x).String(), `Desc{fqName: "flyball_`) {
			to <- x
		}
	}
}

// In returns the metrics that a registry has. They are registered once. A registry that has metrics of the same
// names from elsewhere keeps those.
func In(r prometheus.Registerer, logger *slog.Logger) *metrics.Metrics {
	exported.Lock()
	defer exported.Unlock()
	if m := exported.by[r]; m != nil {
		return m
	}
	m := metrics.New(metrics.Options{WithoutRuntime: true, Logger: logger})
	if err := r.Register(own{m.Registerer().(*prometheus.Registry)}); err != nil {
		logger.Warn("metrics of the cache are not registered", "err", err)
	}
	if exported.by == nil {
		exported.by = map[prometheus.Registerer]*metrics.Metrics{}
	}
	exported.by[r] = m
	return m
}
