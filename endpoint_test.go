package flyball

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/ops/serve"
)

// authority signs certificates of clients.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, cert: &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), SerialNumber: big.NewInt(1),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	a.cert = a.sign(t, a.cert, &key.PublicKey)
	return a
}

func (a *authority) sign(t *testing.T, c *x509.Certificate, key *ecdsa.PublicKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key, a.key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// client is a client with a certificate of the authority, which it always shows.
func (a *authority) client(t *testing.T) *http.Client {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "apiserver"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), SerialNumber: big.NewInt(2),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, &key.PublicKey)
	pair := &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify:   true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil },
	}}}
}

func (a *authority) write(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// code is the status code that a client gets, 0 if it gets no answer.
func code(c *http.Client, url string) int {
	defer c.CloseIdleConnections()
	r, err := c.Get(url)
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, r.Body)
	return r.StatusCode
}

// With a ClientCA the servers answer clients that have a certificate of it. Another authority may take its place
// while they run.
func TestClientsNeedACertificate(t *testing.T) {
	old, next := newAuthority(t, "old"), newAuthority(t, "next")
	ca := filepath.Join(t.TempDir(), "ca.crt")
	old.write(t, ca)
	m := newAPI(t).manager(t, Options{
		Metrics:  Endpoint{Addr: "127.0.0.1:0", ClientCA: ca, Configure: func(o *serve.Options) { o.HTTP2 = true }},
		Webhooks: Webhooks{Addr: "127.0.0.1:0", CertDir: pair(t), ClientCA: ca},
		Probes:   Endpoint{Addr: "127.0.0.1:0", CertDir: pair(t), ClientCA: ca},
	})
	if err := m.Handle("/hello", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})); err != nil {
		t.Fatal(err)
	}
	up(t, m)
	at := m.Addrs()
	shown := old.client(t)
	shown.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	if r, err := shown.Get("https://" + at.Metrics.String() + "/metrics"); err != nil || r.ProtoMajor != 2 {
		t.Errorf("%v, %v; want HTTP/2", r, err)
	} else {
		r.Body.Close()
	}
	shown.CloseIdleConnections()
	for range 2 {
		for name, url := range map[string]string{
			"metrics": "https://" + at.Metrics.String() + "/metrics", "webhooks": "https://" + at.Webhooks.String() + "/hello", "probes": "https://" + at.Probes.String() + "/livez",
		} {
			if got := code(old.client(t), url); got != http.StatusOK {
				t.Errorf("%s, with a certificate: %d", name, got)
			}
			if got := code(next.client(t), url); got != 0 {
				t.Errorf("%s, with that of another authority: %d", name, got)
			}
			if got := code(insecure(), url); got != 0 {
				t.Errorf("%s, without a certificate: %d", name, got)
			}
		}
		old, next = next, old
		old.write(t, ca)
	}
	if err := os.Remove(ca); err != nil {
		t.Fatal(err)
	}
	if got := code(next.client(t), "https://"+at.Metrics.String()+"/metrics"); got != 0 {
		t.Errorf("without the file: %d", got)
	}
}

// Configure reaches the options of each server: TLS, protocols and bounds.
func TestConfigureChangesTheServers(t *testing.T) {
	configured := map[string]serve.Options{}
	set := func(o *serve.Options) {
		configured[o.Name] = *o
		o.HTTP2, o.MaxHeaderBytes = true, 1<<10
		o.TLS.MinVersion = tls.VersionTLS13
	}
	m := newAPI(t).manager(t, Options{
		Metrics:  Endpoint{Addr: "127.0.0.1:0", CertDir: pair(t), Configure: set},
		Probes:   Endpoint{Addr: "127.0.0.1:0", CertDir: pair(t), Configure: set},
		Webhooks: Webhooks{Addr: "127.0.0.1:0", CertDir: pair(t), Configure: set},
	})
	if len(configured) != 3 || configured["metrics"].HandlerTimeout != 2*time.Minute || configured["webhooks"].TLS == nil {
		t.Errorf("called with %v", configured)
	}
	up(t, m)
	at := m.Addrs()
	for name, url := range map[string]string{
		"metrics": "https://" + at.Metrics.String() + "/metrics", "webhooks": "https://" + at.Webhooks.String() + "/none", "probes": "https://" + at.Probes.String() + "/livez",
	} {
		c := insecure()
		transport := c.Transport.(*http.Transport)
		transport.ForceAttemptHTTP2 = true
		r, err := c.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		c.CloseIdleConnections()
		if r.ProtoMajor != 2 || r.TLS.Version != tls.VersionTLS13 {
			t.Errorf("%s: %s over TLS %x", name, r.Proto, r.TLS.Version)
		}
		old := insecure()
		old.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS12
		if got := code(old, url); got != 0 {
			t.Errorf("%s over TLS 1.2: %d", name, got)
		}
		if got := code(insecure(), url+"?"+strings.Repeat("x", 6<<10)); got != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s, with a header of 6 KiB: %d", name, got)
		}
	}
}

func TestBadEndpointsAreNamed(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := func(o *serve.Options) { o.Addr = ":0" }
	for name, tc := range map[string]struct {
		o           Options
		field, text string
	}{
		"no TLS":         {Options{Metrics: Endpoint{Addr: ":0", Insecure: true, ClientCA: empty}}, "Metrics.ClientCA", "does not talk TLS"},
		"plain probes":   {Options{Probes: Endpoint{Addr: ":0", ClientCA: empty}}, "Probes.ClientCA", "does not talk TLS"},
		"no file":        {Options{Metrics: Endpoint{Addr: ":0", ClientCA: filepath.Join(dir, "none")}}, "Metrics.ClientCA", "no such file"},
		"no certificate": {Options{Webhooks: Webhooks{Addr: ":0", CertDir: pair(t), ClientCA: empty}}, "Webhooks.ClientCA", "has no certificate"},
		"elsewhere":      {Options{Metrics: Endpoint{Addr: "127.0.0.1:0", Configure: elsewhere}}, "Metrics.Configure", "Addr"},
		"a bad bound":    {Options{Webhooks: Webhooks{Addr: ":0", CertDir: pair(t), Configure: func(o *serve.Options) { o.MaxConnections = -1 }}}, "Webhooks", "MaxConnections"},
	} {
		tc.o.Config, tc.o.Logger = &rest.Config{Host: "http://127.0.0.1:1"}, slog.New(slog.DiscardHandler)
		_, err := New(tc.o)
		if !isOption(err, tc.field) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
