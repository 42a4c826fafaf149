package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
)

// selfSigned is a certificate authority and server in one.
func selfSigned(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "fake"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &priv.PublicKey, priv)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: priv}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// serveTLS serves the fake with the current certificate of cert.
func serveTLS(t *testing.T, f *fake, cert *atomic.Pointer[tls.Certificate]) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(f)
	srv.EnableHTTP2 = true
	srv.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*cert.Load()}, NextProtos: []string{"h2", "http/1.1"}}, nil
	}}
	srv.Config.ErrorLog = discardLog
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

// A server with a new authority is reached as soon as the CA file has it. A half-written file changes
// nothing.
func TestRotatedCAIsReadFromItsFile(t *testing.T) {
	f := newFake(t)
	f.on("GET "+podPath, reply(pod("x"), podGVK))
	f.on("POST /api/v1/namespaces/web/pods", reply(pod("x"), podGVK))
	oldCert, oldCA := selfSigned(t)
	newCert, newCA := selfSigned(t)
	var cert atomic.Pointer[tls.Certificate]
	cert.Store(&oldCert)
	srv := serveTLS(t, f, &cert)
	srv.Config.SetKeepAlivesEnabled(false) // a handshake for each request
	ca := file(t, filepath.Join(t.TempDir(), "ca.crt"), string(oldCA))
	c, err := New(&rest.Config{Host: srv.URL, TLSClientConfig: rest.TLSClientConfig{CAFile: ca, NextProtos: []string{"http/1.1"}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	get := func() error {
		_, err := Get[corev1.Pod](t.Context(), c, key("x"))
		return err
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	cert.Store(&newCert)
	if err := get(); !is[*ConfigError](err) {
		t.Fatalf("before the file has it: %v", err)
	}
	file(t, ca, string(newCA[:len(newCA)/2]))
	if err := get(); !is[*ConfigError](err) {
		t.Fatalf("half written: %v", err)
	}
	file(t, ca, string(newCA))
	n := f.count()
	if _, err := Create(t.Context(), c, pod("x")); err != nil {
		t.Fatalf("once the file has it: %v", err)
	}
	if f.count() != n+1 {
		t.Errorf("the server saw %d requests for one", f.count()-n)
	}
	if err := get(); err != nil {
		t.Error(err)
	}
}

// tokenServer accepts only the current token.
func tokenServer(t *testing.T, f *fake) (*httptest.Server, *atomic.Value) {
	var token atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token.Load().(string) && !isDiscovery(r.URL.Path) {
			f.mu.Lock()
			f.asked = append(f.asked, asked{method: "401"})
			f.mu.Unlock()
			status(401, metav1.StatusReasonUnauthorized, "")(w, r)
			return
		}
		f.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv, &token
}

// After a 401 the client reads the token file again and sends the request once more.
func TestRotatedTokenIsReadAfterA401(t *testing.T) {
	f := newFake(t)
	f.on("POST /api/v1/namespaces/web/pods", reply(pod("x"), podGVK))
	srv, token := tokenServer(t, f)
	token.Store("one")
	path := file(t, filepath.Join(t.TempDir(), "token"), "one")
	c, err := New(&rest.Config{Host: srv.URL, BearerTokenFile: path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, tt := range []struct {
		server, file string
		tries        int
		ok           bool
	}{{"one", "one", 1, true}, {"two", "two", 2, true}, {"two", "two", 1, true}, {"three", "two", 2, false}, {"three", "three", 2, true}} {
		token.Store(tt.server)
		file(t, path, tt.file)
		n := f.count()
		_, err := Create(t.Context(), c, pod("x"))
		if tt.ok != (err == nil) || !tt.ok && !is[*UnauthorizedError](err) {
			t.Errorf("%+v: %v", tt, err)
		}
		if got := f.count() - n; got != tt.tries {
			t.Errorf("%+v: %d tries", tt, got)
		}
	}
}

// An exec plugin is run again after a 401.
func TestExecPluginRunsAgainAfterA401(t *testing.T) {
	f := newFake(t)
	f.on("GET "+podPath, reply(pod("x"), podGVK))
	srv, token := tokenServer(t, f)
	dir := t.TempDir()
	out := filepath.Join(dir, "token")
	plugin := file(t, filepath.Join(dir, "plugin"), `#!/bin/sh
read t < "`+out+`"
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$t'"}}'
`)
	if err := os.Chmod(plugin, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := New(&rest.Config{Host: srv.URL, ExecProvider: &api.ExecConfig{
		Command: plugin, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: api.NeverExecInteractiveMode,
	}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, s := range []string{"one", "two"} {
		token.Store(s)
		file(t, out, s+"\n")
		if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// New and Check return a clear error for each wrong configuration.
func TestWrongConfigurationsFailAtOnce(t *testing.T) {
	f := newFake(t)
	f.on("GET /version", text(200, "application/json", `{"major":"1","minor":"36","gitVersion":"v1.36.0"}`))
	var cert atomic.Pointer[tls.Certificate]
	mine, ca := selfSigned(t)
	_, otherCA := selfSigned(t)
	cert.Store(&mine)
	secure := serveTLS(t, f, &cert)
	plain := httptest.NewServer(f)
	defer plain.Close()
	html := httptest.NewServer(text(200, "text/html", "<html>"))
	defer html.Close()
	locked := newFake(t)
	locked.on("GET /version", status(401, metav1.StatusReasonUnauthorized, ""))
	denied := httptest.NewServer(locked)
	defer denied.Close()
	port := secure.URL[strings.LastIndexByte(secure.URL, ':'):]

	for name, tt := range map[string]struct {
		cfg  rest.Config
		is   func(error) bool
		says string
	}{
		"works":            {rest.Config{Host: secure.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, func(err error) bool { return err == nil }, ""},
		"name mismatch":    {rest.Config{Host: "https://localhost" + port, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, is[*ConfigError], `not for the name "localhost"`},
		"other authority":  {rest.Config{Host: secure.URL, TLSClientConfig: rest.TLSClientConfig{CAData: otherCA}}, is[*ConfigError], "authority"},
		"HTTPS to HTTP":    {rest.Config{Host: strings.Replace(plain.URL, "http:", "https:", 1)}, is[*ConfigError], "does not speak TLS"},
		"HTTP to HTTPS":    {rest.Config{Host: "http://127.0.0.1" + port}, is[*ConfigError], "it speaks TLS"},
		"no API server":    {rest.Config{Host: html.URL}, is[*ConfigError], "Kubernetes API server"},
		"nobody there":     {rest.Config{Host: "http://127.0.0.1:1"}, is[*UnavailableError], "refused"},
		"bad credentials":  {rest.Config{Host: denied.URL, BearerToken: "x"}, is[*UnauthorizedError], "version"},
		"CA file absent":   {rest.Config{Host: secure.URL, TLSClientConfig: rest.TLSClientConfig{CAFile: "/nonexistent/ca"}}, is[*ConfigError], "/nonexistent/ca"},
		"CA is no PEM":     {rest.Config{Host: secure.URL, TLSClientConfig: rest.TLSClientConfig{CAData: []byte("x")}}, is[*ConfigError], "root certificates"},
		"address is wrong": {rest.Config{Host: "https://a b"}, is[*ConfigError], "a b"},
	} {
		c, err := New(&tt.cfg, Options{})
		if err == nil {
			err = c.Check(t.Context())
			c.Close()
		}
		if !tt.is(err) || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %T: %v", name, err, err)
		}
	}
	if _, err := New(nil, Options{}); !is[*ConfigError](err) {
		t.Errorf("nil: %v", err)
	}
}

func TestHTTP2IsUsedIfTheServerHasIt(t *testing.T) {
	f := newFake(t)
	proto := make(chan string, 1)
	f.on("GET "+podPath, func(w http.ResponseWriter, r *http.Request) {
		proto <- r.Proto
		reply(pod("x"), podGVK)(w, r)
	})
	var cert atomic.Pointer[tls.Certificate]
	mine, ca := selfSigned(t)
	cert.Store(&mine)
	srv := serveTLS(t, f, &cert)
	for want, protos := range map[string][]string{"HTTP/2.0": nil, "HTTP/1.1": {"http/1.1"}} {
		c, err := New(&rest.Config{Host: srv.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca, NextProtos: protos}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil {
			t.Fatal(err)
		}
		if got := <-proto; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		c.Close()
	}
}

func TestConfiguredProxyIsUsed(t *testing.T) {
	f := newFake(t)
	f.on("GET "+podPath, reply(pod("x"), podGVK))
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "far.test" {
			asked.Add(1)
		}
		f.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(&rest.Config{Host: "http://far.test", Proxy: http.ProxyURL(at)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil || asked.Load() == 0 {
		t.Errorf("%d requests came through the proxy, %v", asked.Load(), err)
	}
}

// The HTTP/2 settings bound the bytes that the server sends ahead. Other clients of the process with the
// same configuration keep their settings.
func TestHTTP2SettingsStayWithTheClient(t *testing.T) {
	cert, ca := selfSigned(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := &rest.Config{Host: "https://" + l.Addr().String(), TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
	mine, err := New(cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	other, err := rest.TransportFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer closeIdle(other)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	settings := func(ask func()) map[uint16]uint32 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			ask()
		}()
		t.Cleanup(func() { <-done })
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		head := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")+9)
		if _, err := io.ReadFull(conn, head); err != nil {
			t.Fatal(err)
		}
		frame := head[len(head)-9:] // three bytes of length, the type
		body := make([]byte, int(frame[0])<<16|int(frame[1])<<8|int(frame[2]))
		if _, err := io.ReadFull(conn, body); err != nil || frame[3] != 4 {
			t.Fatalf("the first frame is of type %d, %v", frame[3], err)
		}
		all := map[uint16]uint32{}
		for ; len(body) >= 6; body = body[6:] {
			all[binary.BigEndian.Uint16(body)] = binary.BigEndian.Uint32(body[2:])
		}
		return all
	}
	const window, frame = 4, 5
	if s := settings(func() { mine.Check(ctx) }); s[window] != 1<<20 || s[frame] != 256<<10 {
		t.Errorf("settings of ours: %v", s)
	}
	s := settings(func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host, nil)
		if resp, err := other.RoundTrip(req); err == nil {
			resp.Body.Close()
		}
	})
	if s[window] == 1<<20 || s[frame] == 256<<10 {
		t.Errorf("settings of another: %v", s)
	}
}
