package flyball

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/flyball-io/flyball/ops/cert"
	"github.com/flyball-io/flyball/ops/serve"
)

// Endpoint is an HTTP server of the manager. The zero value serves nothing.
//
// On loopback it talks plain HTTP to everybody on the machine. On any other address it talks TLS, and
// answers only users whom the API server authenticates and allows the path; see serve.Authorized. Probes
// are the exception: see Options.Probes.
type Endpoint struct {
	// Addr is host:port: "127.0.0.1:8080", or ":8443" for all addresses of the machine. Empty: nothing is
	// served.
	Addr string
	// CertDir has tls.crt and tls.key. They are read again when they change. Empty: each process makes a
	// self-signed certificate where TLS is needed.
	CertDir string
	// ClientCA is a file with certificates in PEM. The server then talks TLS, on loopback too, to clients with
	// a certificate of one of these authorities alone. The file is read for each connection, so that they may
	// change. Users beyond loopback need their permission all the same. Empty: no client needs a certificate.
	ClientCA string
	// Insecure serves everybody, over plain HTTP, also beyond loopback.
	Insecure bool
	// Configure may change the options of the server: versions and cipher suites of TLS, HTTP/2, timeouts,
	// bounds, or the handler. New calls it once, with all that the fields before say but ClientCA. It must
	// not change Name and Addr. Nil: none.
	Configure func(*serve.Options)
}

// endpoint makes the server of an Endpoint; field is its field of Options.
func (m *Manager) endpoint(name, field string, e Endpoint, h http.Handler) (s *serve.Server, err error) {
	o := serve.Options{Name: name, Addr: e.Addr, Handler: h, Insecure: e.Insecure, Logger: m.logger}
	if name == "metrics" {
		o.HandlerTimeout = 2 * time.Minute // a profile takes as long as its request says
	}
	var source cert.Source
	switch {
	case e.CertDir != "":
		if source, err = cert.NewFiles(cert.FilesOptions{Dir: e.CertDir, Logger: m.logger}); err != nil {
			return nil, badOption(field+".CertDir", err)
		}
	case name == "webhooks":
		if source, err = m.managedCert(); err != nil {
			return nil, err
		}
	case !e.Insecure && (e.ClientCA != "" || !isLoopback(e.Addr)):
		o.TLS = cert.SelfSigned()
	}
	if source != nil {
		m.servers.certs = append(m.servers.certs, named{name, source})
		o.TLS = cert.TLS(source)
	}
	if given := o; e.Configure != nil {
		e.Configure(&o)
		if o.Name != given.Name || o.Addr != given.Addr {
			return nil, badOption(field+".Configure", errors.New("must not change Name and Addr"))
		}
	}
	if e.ClientCA != "" {
		if err := requireClients(o.TLS, e.ClientCA); err != nil {
			return nil, badOption(field+".ClientCA", err)
		}
	}
	if s, err = serve.New(o); err != nil {
		return nil, badOption(field, err)
	}
	return s, nil
}

// requireClients refuses clients without a certificate of an authority in a file, which is read for each
// connection.
func requireClients(c *tls.Config, file string) error {
	if c == nil {
		return errors.New("the server does not talk TLS")
	}
	choose := func(*tls.ClientHelloInfo) (*tls.Config, error) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		own := c.Clone()
		own.GetConfigForClient, own.ClientAuth, own.ClientCAs = nil, tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !own.ClientCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("%s has no certificate in PEM", file)
		}
		return own, nil
	}
	c.GetConfigForClient = choose
	_, err := choose(nil)
	return err
}

// isLoopback reports whether an address is literally one of loopback. Package serve checks again what its
// name resolves to.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
