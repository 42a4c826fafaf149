package metrics

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
)

// requestVecs are the metrics of clients, which push them.
type requestVecs struct {
	total *prometheus.CounterVec
	took  *prometheus.HistogramVec
	live  *prometheus.CounterVec
	kinds *bounded
}

func newRequestVecs(r prometheus.Registerer) requestVecs {
	return requestVecs{
		total: counter(r, "rest_client_requests_total",
			"Requests to the API server, retries included, by status code (<error> without an answer), method and host.", "code", "method", "host"),
		took: histogram(r, "rest_client_request_duration_seconds",
			"Time until the header of the API server's answer, or until the failure.", requestBuckets, "verb", "host"),
		live: counter(r, "flyball_live_reads_total",
			"Reads that went to the API server because the cache does not hold the kind.", "kind"),
		kinds: newBounded(200),
	}
}

// methods maps the client's verbs to HTTP methods.
var methods = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet, "discover": http.MethodGet,
	"create": http.MethodPost, "update": http.MethodPut,
	"patch": http.MethodPatch, "apply": http.MethodPatch,
	"delete": http.MethodDelete, "deletecollection": http.MethodDelete,
}

// ClientHook returns a hook for client.Options.Hook of a client of this host. host is the API
// server's host and port, without scheme and path: "10.0.0.1:443".
func (m *Metrics) ClientHook(host string) func(client.Done) {
	host = label(host)
	v := &m.requests
	return func(d client.Done) {
		method, known := methods[d.Verb]
		if !known {
			method = "OTHER"
		}
		v.total.WithLabelValues(code(d.Code), method, host).Inc()
		v.took.WithLabelValues(method, host).Observe(d.Duration.Seconds())
	}
}

// code returns a status code as a label. The number of labels is bounded, whatever a server
// answers.
func code(c int) string {
	switch {
	case c == 0:
		return "<error>"
	case http.StatusText(c) == "":
		return "other"
	}
	return strconv.Itoa(c)
}

// LiveRead counts a read that went to the API server because the cache does not have the kind.
func (m *Metrics) LiveRead(kind schema.GroupVersionKind) {
	m.requests.live.WithLabelValues(m.requests.kinds.label(kindLabel(kind))).Inc()
}

// kindLabel returns the label of a kind, such as "Pod" or "Deployment.apps".
func kindLabel(gvk schema.GroupVersionKind) string { return label(gvk.GroupKind().String()) }

// bounded limits the number of values of a label. Further values become "other".
type bounded struct {
	max int

	mu   sync.Mutex
	seen map[string]bool
}

func newBounded(max int) *bounded { return &bounded{max: max, seen: map[string]bool{}} }

func (b *bounded) label(v string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.seen[v] {
		if len(b.seen) >= b.max {
			return "other"
		}
		b.seen[v] = true
	}
	return v
}
