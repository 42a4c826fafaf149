package metrics

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/flyball-io/flyball/internal/logguard"
)

// ErrTaken says that something of this name is being told of already.
var ErrTaken = errors.New("name is taken")

// TakenError says of what there are two.
type TakenError struct {
	// What is "controller", "lease", "certificate", "server".
	What, Name string
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("metrics: %s %q: %s", e.What, e.Name, ErrTaken)
}

func (e *TakenError) Unwrap() error { return ErrTaken }

// Options say what a Metrics has besides. The zero value works. They are read by New, once.
type Options struct {
	// WithoutRuntime leaves out what is of the Go runtime and the process, for programs that have
	// more than one Metrics and for tests.
	WithoutRuntime bool
	// Logger is told when a scrape fails. Nil: slog.Default().
	Logger *slog.Logger
}

// Metrics is a registry and what feeds it. All methods may be called from any goroutine.
type Metrics struct {
	o        Options
	registry *prometheus.Registry
	pulled   *collector

	controllers controllerVecs
	requests    requestVecs
	webhooks    webhookVecs
}

// New returns metrics of nothing yet.
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

// Registerer is where a program registers metrics of its own. A collector that panics ends the
// process: it runs on a goroutine of the registry.
func (m *Metrics) Registerer() prometheus.Registerer { return m.registry }

// Gatherer yields everything, for those who read it otherwise than over HTTP.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Handler serves everything as Prometheus reads it, up to four scrapes at a time; more are a 503.
// What cannot be collected is left out and logged. It asks nobody who they are; see serve.Authorized.
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

// label is a name as a label value may be.
func label(name string) string { return strings.ToValidUTF8(name, "�") }
