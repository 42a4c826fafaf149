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
	// Logger logs failed scrapes. Nil means slog.Default().
	Logger *slog.Logger
}

// Metrics is a registry and its sources. All methods are safe for concurrent use.
type Metrics struct {
	o        Options
	registry *prometheus.Registry
	pulled   *collector

	controllers controllerVecs
	requests    requestVecs
	webhooks    webhookVecs
}

// New returns a Metrics without sources.
func New(o Options) *Metrics {
	o.Logger = logguard.Logger(o.Logger)
	m := &Metrics{o: o, registry: prometheus.NewRegistry(), pulled: newCollector()}
	m.controllers = newControllerVecs(m.registry)
	m.requests = newRequestVecs(m.registry)
	m.webhooks = newWebhookVecs(m.registry)
	m.registry.MustRegister(m.pulled)
	if !o.WithoutRuntime {
		m.registry.MustRegister(
			collectors.NewGoCollector(),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
			collectors.NewBuildInfoCollector(),
		)
	}
	return m
}

// Registerer returns the registry, for the program's own metrics. A collector that panics ends the
// process, since it runs on a goroutine of the registry.
func (m *Metrics) Registerer() prometheus.Registerer { return m.registry }

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
