package flyball

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/flyball-io/flyball/internal/life"
	"github.com/flyball-io/flyball/ops/cert"
	"github.com/flyball-io/flyball/ops/serve"
)

// Webhooks configure the server of the webhooks. The zero value serves nothing. API servers call over TLS
// only, with HTTP/1.1.
type Webhooks struct {
	// Addr is host:port, such as ":9443". Empty: nothing is served.
	Addr string
	// CertDir has tls.crt and tls.key. They are read again when they change.
	CertDir string
	// ClientCA and Configure are those of [Endpoint]. API servers have a client certificate for webhooks where
	// their AdmissionConfiguration names one.
	ClientCA  string
	Configure func(*serve.Options)
	// Drain is how long the webhooks are served after the manager was told to stop or has failed. The manager
	// is not ready from then on, but API servers hear of it later. The caches run for as long. Each answer
	// closes its connection, so that the next request reaches another replica. The drain passes beside the
	// grace period, and is part of no bound in Options.Stop. Zero: 5 s, and none on loopback. Negative: none.
	Drain time.Duration
	// Memory bounds the bytes of the large bodies of all requests to webhooks together, with the answers of
	// conversion. A body that does not fit waits for a moment and is refused then; see webhook.Budget. Zero:
	// 256 MiB, or a quarter of GOMEMLIMIT if that is less, but at least 16 MiB. Negative: no bound.
	Memory int64
	// Managed makes the certificate, if CertDir is empty, and keeps it in a Secret that the replicas share. An
	// empty Namespace is that of the Pod, an empty Name that of Options with "-webhook-cert", and an empty
	// Logger is set. It needs a Service, DNSNames or IPs; without them, on loopback, it is for 127.0.0.1, ::1
	// and localhost.
	Managed cert.ManagedOptions
}

// Addrs are the addresses that a manager listens on, nil for a server that does not listen.
type Addrs struct{ Metrics, Probes, Webhooks net.Addr }

// servers are the servers of a manager. all has those that are on; the others are nil.
type servers struct {
	metrics, probes, webhooks *serve.Server
	all                       []*serve.Server
	certs                     []named
}

// named is a source of certificates with a name.
type named struct {
	name   string
	source cert.Source
}

// newServers makes the servers and adds them to the phase Serve.
func (m *Manager) newServers() error {
	m.pageMux.paths["/metrics"] = true // also if it is not served
	s, probes, w := &m.servers, m.o.Probes, m.o.Webhooks
	probes.Insecure = probes.Insecure || probes.CertDir == ""
	for _, e := range []struct {
		name, field string
		Endpoint
		handler func() (http.Handler, error)
		server  **serve.Server
	}{
		{"metrics", "Metrics", m.o.Metrics, m.metricsHandler, &s.metrics},
		{"probes", "Probes", probes, m.probes.handler, &s.probes},
		{"webhooks", "Webhooks", Endpoint{Addr: w.Addr, CertDir: w.CertDir, ClientCA: w.ClientCA, Configure: w.Configure}, m.webhooksHandler, &s.webhooks},
	} {
		if e.Addr == "" {
			continue
		}
		h, err := e.handler()
		if err == nil {
			*e.server, err = m.endpoint(e.name, e.field, e.Endpoint, h)
		}
		if err != nil {
			return err
		}
		s.all = append(s.all, *e.server)
	}
	for _, c := range s.certs {
		if _, err := m.life.Add(life.Serve, "certificate of "+c.name, c.source.Run); err != nil {
			return err
		}
		if _, err := m.metrics.AddCertificate(c.name, c.source.Stats); err != nil {
			return err
		}
		if _, err := m.probes.ready.Add("certificate:"+c.name, c.source.Check); err != nil {
			return err
		}
	}
	for _, server := range s.all {
		if _, err := m.life.Add(life.Serve, "server of "+server.Name(), server.Run); err != nil {
			return err
		}
		if _, err := m.metrics.AddServer(server.Name(), server.Stats); err != nil {
			return err
		}
	}
	return nil
}

// metricsHandler serves the metrics, the pages of the program and, with Options.Debug, the debug pages.
func (m *Manager) metricsHandler() (http.Handler, error) {
	mux := m.pageMux.mux
	mux.Handle("GET /metrics", m.metrics.Handler())
	if m.o.Debug {
		pages, err := serve.Debug(m.pages()...)
		if err == nil {
			err = m.pageMux.handle("/debug/", "/debug", pages)
		}
		if err != nil {
			return nil, badOption("Debug", err)
		}
	}
	if e := m.o.Metrics; !e.Insecure && !isLoopback(e.Addr) {
		reviews := m.bare.Limited(m.o.Client.QPS, m.o.Client.Burst)
		return serve.Authorized(reviews, mux, serve.AuthOptions{Logger: m.logger}), nil
	}
	return mux, nil
}

// defaultDrain is longer than API servers and proxies usually need to hear that a Pod is not ready.
const defaultDrain = 5 * time.Second

// drain is how long the webhooks are served after the stop.
func (w Webhooks) drain() time.Duration {
	if w.Addr == "" || w.Drain == 0 && isLoopback(w.Addr) {
		return 0
	}
	return max(cmp.Or(w.Drain, defaultDrain), 0)
}

// drained returns at the end of the drain; at once, if the webhooks were never served.
func (m *Manager) drained(stopped time.Time) {
	if m.Addrs().Webhooks == nil {
		return
	}
	if rest := time.Until(stopped.Add(m.o.Webhooks.drain())); rest > 0 {
		m.logger.Info("webhooks are served on, for those who have not heard of the stop", "for", rest.Round(time.Millisecond))
		<-time.After(rest)
	}
}

// webhooksHandler closes the connection after each answer once the manager stops. New connections lead to other
// replicas.
func (m *Manager) webhooksHandler() (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.life.Stopping() > 0 {
			w.Header().Set("Connection", "close")
		}
		m.webhooks.mux.ServeHTTP(w, r)
	}), nil
}

// managedCert is the source of the certificate that the program makes for its webhooks.
func (m *Manager) managedCert() (cert.Source, error) {
	w := m.o.Webhooks
	o := w.Managed
	o.Name = cmp.Or(o.Name, objectName(m.o.Name)+"-webhook-cert")
	if o.Namespace == "" {
		var err error
		if o.Namespace, err = podNamespace(); err != nil {
			return nil, badOption("Webhooks.Managed.Namespace", err)
		}
	}
	if o.Service == "" && len(o.DNSNames)+len(o.IPs) == 0 && isLoopback(w.Addr) {
		o.DNSNames, o.IPs = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	}
	o.Logger = m.o.loggerOr(o.Logger)
	source, err := cert.NewManaged(m.bare, o)
	if err != nil {
		return nil, badOption("Webhooks.Managed", err)
	}
	return source, nil
}

// serveCheck is how long the caches wait for a missing certificate. Then everything that needs no webhook
// goes on without it.
const serveCheck = 30 * time.Second

var errNoCertificate = errors.New("no certificate in time")

// serving returns when all servers listen and have their certificates. The API server may call a webhook
// for the first list of a kind.
func (m *Manager) serving(ctx context.Context) {
	if m.servers.webhooks == nil {
		if n := m.webhooks.count(); n > 0 {
			m.logger.Warn("webhooks are not served: Options.Webhooks.Addr is empty", "webhooks", n)
		}
	}
	for _, s := range m.servers.all {
		select {
		case <-s.Listening():
		case <-ctx.Done(): // also when a server fails
			return
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, serveCheck, errNoCertificate)
	defer cancel()
	for _, c := range m.servers.certs {
		select {
		case <-c.source.Ready():
		case <-ctx.Done():
			if context.Cause(ctx) == errNoCertificate {
				m.logger.Error("a certificate is not there, going on", "server", c.name, "err", c.source.Check(ctx))
			}
			return
		}
	}
}

// Addrs are the addresses that the manager listens on now.
func (m *Manager) Addrs() Addrs {
	addr := func(s *serve.Server) net.Addr {
		if s == nil {
			return nil
		}
		return s.Addr()
	}
	return Addrs{addr(m.servers.metrics), addr(m.servers.probes), addr(m.servers.webhooks)}
}
