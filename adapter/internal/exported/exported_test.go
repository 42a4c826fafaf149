package exported

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	_ "sigs.k8s.io/controller-runtime" // registers the metrics of controllers and webhooks
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flyball-io/flyball/cache"
)

func watches() []cache.Watch { return []cache.Watch{{}} }

// gathered returns the names of Flyball's metrics in a registry.
func gathered(t *testing.T, g prometheus.Gatherer) map[string]bool {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Error(err)
	}
	names := map[string]bool{}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "flyball_") {
			names[f.GetName()] = true
		}
	}
	return names
}

// The registry of controller-runtime has metrics of its own, some of the names that Flyball's have, too.
func TestRegistryOfControllerRuntime(t *testing.T) {
	var log bytes.Buffer
	m := In(crmetrics.Registry, slog.New(slog.NewTextHandler(&log, nil)))
	if In(crmetrics.Registry, slog.Default()) != m {
		t.Error("the metrics of one registry are made twice")
	}
	withdraw := m.AddCache(watches)
	names := gathered(t, crmetrics.Registry)
	for _, name := range []string{"flyball_cache_objects", "flyball_cache_held_bytes", "flyball_watch_healthy"} {
		if !names[name] {
			t.Errorf("%s is not among %d of Flyball", name, len(names))
		}
	}
	withdraw()
	if names := gathered(t, crmetrics.Registry); names["flyball_cache_objects"] {
		t.Error("the metrics of a cache stay when it has ended")
	}
	if log.Len() > 0 {
		t.Error(&log)
	}
}

// A registry that has such metrics from elsewhere keeps those, and the log says so.
func TestNamesThatAreTaken(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "flyball_cache_objects", Help: "Not Flyball's."}))
	var log bytes.Buffer
	In(r, slog.New(slog.NewTextHandler(&log, nil))).AddCache(watches)
	if names := gathered(t, r); len(names) != 1 || !strings.Contains(log.String(), "metrics of the cache are not registered") {
		t.Errorf("%v; the log: %s", names, &log)
	}
}
