package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyball-io/flyball/webhook"
	"github.com/flyball-io/flyball/webhook/convert"
)

const byWebhook = "webhook"

// webhookVecs are the metrics of webhooks, which push them.
type webhookVecs struct {
	total, denied            *prometheus.CounterVec
	took                     *prometheus.HistogramVec
	inFlight, overdue        *prometheus.GaugeVec
	panics, conversionPanics prometheus.Counter
}

func newWebhookVecs(r prometheus.Registerer) webhookVecs {
	v := webhookVecs{
		total: counter(r, "controller_runtime_webhook_requests_total",
			"Answered requests to webhooks, by HTTP status code. Verdicts have 200.", byWebhook, "code"),
		denied: counter(r, "flyball_webhook_denied_total",
			"Objects that webhooks rejected, or could not convert.", byWebhook),
		took: histogram(r, "controller_runtime_webhook_latency_seconds",
			"Time from the header of a request to its answer.", decades, byWebhook),
		inFlight: gauge(r, "controller_runtime_webhook_requests_in_flight",
			"Requests that are being answered.", byWebhook),
		overdue: gauge(r, "flyball_webhook_overdue_handlers",
			"Handlers that still run after their timeout.", byWebhook),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "controller_runtime_webhook_panics_total",
			Help: "Admission handlers that panicked."}),
		conversionPanics: prometheus.NewCounter(prometheus.CounterOpts{Name: "controller_runtime_conversion_webhook_panics_total",
			Help: "Conversions that panicked."}),
	}
	r.MustRegister(v.panics, v.conversionPanics)
	return v
}

// Webhooks returns the hooks that count webhooks, both of admission and of conversion (named
// convert.Path). Their label is the name of the webhook.
func (m *Metrics) Webhooks() webhook.Hooks {
	v := &m.webhooks
	return webhook.Hooks{
		Started: func(name string) { v.inFlight.WithLabelValues(label(name)).Inc() },
		Done: func(c webhook.Call) {
			name := label(c.Webhook)
			v.inFlight.WithLabelValues(name).Dec()
			v.total.WithLabelValues(name, code(c.Code)).Inc()
			v.took.WithLabelValues(name).Observe(c.Duration.Seconds())
			if c.Denied {
				v.denied.WithLabelValues(name).Inc()
			}
			switch {
			case c.Panic == nil:
			case c.Webhook == convert.Path:
				v.conversionPanics.Inc()
			default:
				v.panics.Inc()
			}
		},
		Lost: func(name string, running int) { v.overdue.WithLabelValues(label(name)).Set(float64(running)) },
	}
}

// Webhook adds the series of a webhook with zeros, before the first request.
func (m *Metrics) Webhook(name string) {
	name = label(name)
	v := &m.webhooks
	v.inFlight.WithLabelValues(name)
	v.took.WithLabelValues(name)
	v.denied.WithLabelValues(name)
	v.overdue.WithLabelValues(name)
	for _, usual := range []string{"200", "500"} {
		v.total.WithLabelValues(name, usual)
	}
}
