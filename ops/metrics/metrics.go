package metrics

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/flyball-io/flyball/internal/logguard"
)

// TakenError says which name is already in use.
type TakenError struct {
	// What is "controller", "lease", "certificate" or "server".
	What, Name string
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("metrics: %s %q: name is taken", e.What, e.Name)
}

// Options configures a Metrics. The zero value works. New reads the options once.
type Options struct {
	// WithoutRuntime omits the metrics of the Go runtime and the process. Use it for tests, and for
	// programs with more than one Metrics.
	WithoutRuntime bool
	// Cluster is the value of the label cluster of all series. Empty means no such label. See
	// AddCluster.
	Cluster string
	// Logger logs failed scrapes. Nil means slog.Default().
	Logger *slog.Logger
}

// Metrics is a registry and its sources. All methods are safe for concurrent use.
type Metrics struct {
	o          Options
	registry   *prometheus.Registry
	registerer prometheus.Registerer // registry, with the label cluster if there is one
	pulled     *collector

	controllers controllerVecs
	requests    requestVecs
	webhooks    webhookVecs
}

// New returns a Metrics without sources.
func New(o Options) *Metrics {
	o.Logger = logguard.Logger(o.Logger)
	m := &Metrics{o: o, registry: prometheus.NewRegistry(), pulled: newCollector()}
	m.registerer = m.registry
	if o.Cluster != "" {
		m.registerer = prometheus.WrapRegistererWith(prometheus.Labels{"cluster": label(o.Cluster)}, m.registry)
	}
	m.controllers = newControllerVecs(m.registerer)
	m.requests = newRequestVecs(m.registerer)
	m.webhooks = newWebhookVecs(m.registerer)
	m.registerer.MustRegister(m.pulled)
	if !o.WithoutRuntime {
		m.registerer.MustRegister(
			collectors.NewGoCollector(),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
			collectors.NewBuildInfoCollector(),
		)
	}
	return m
}

// Registerer returns the registry, for the program's own metrics. A collector that panics ends the
// process, since it runs on a goroutine of the registry.
func (m *Metrics) Registerer() prometheus.Registerer { return m.registerer }

// AddCluster serves the metrics of another cluster of the program with those of m. They have
// Options.Cluster, and that of each added one is different.
func (m *Metrics) AddCluster(c *Metrics) { m.registry.MustRegister(undescribed{c.registry}) }

// undescribed is a collector whose metrics may have the names of others, with other labels.
type undescribed struct{ prometheus.Collector }

// Describe implements prometheus.Collector.
func (undescribed) Describe(chan<- *prometheus.Desc) {}

// Gatherer returns the registry, for reading the metrics other than over HTTP.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Handler serves all metrics in the formats of Prometheus. Up to four scrapes run at once; further
// ones get a 503. A metric that cannot be collected is left out and logged. Handler does not
// authenticate its callers; see serve.Authorized.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            scrapeLog{m.o.Logger},
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
		EnableOpenMetrics:   true,
	})
}

// scrapeLog is the logger of promhttp.
type scrapeLog struct{ *slog.Logger }

func (l scrapeLog) Println(v ...any) {
	l.Warn("metrics cannot be collected or sent", "err", strings.TrimSpace(fmt.Sprintln(v...)))
}

// label returns a name as a valid label value.
func label(name string) string { return strings.ToValidUTF8(name, "�") }
