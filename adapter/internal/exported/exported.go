// Package exported registers the metrics of packed caches in the registry of a program.
package exported

import (
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyball-io/flyball/metrics"
)

// exported has the metrics of all caches of a registry.
var exported struct {
	sync.Mutex
	by map[prometheus.Registerer]*metrics.Metrics
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
	if err := r.Register(m.Registerer().(*prometheus.Registry)); err != nil {
		logger.Warn("metrics of the cache are not registered", "err", err)
	}
	if exported.by == nil {
		exported.by = map[prometheus.Registerer]*metrics.Metrics{}
	}
	exported.by[r] = m
	return m
}
