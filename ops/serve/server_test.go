package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/ops/serve"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { leaktest.Main(servertest.Wrap(m)) }

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })

// started runs a server until the test ends. stop ends it earlier and returns the error of Run.
func started(t *testing.T, o serve.Options) (s *serve.Server, addr string, stop func() error) {
	t.Helper()
	if o.Name == "" {
		o.Name = "test"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	addr, stop = ran(t, s)
	return s, addr, stop
}

func ran(t *testing.T, s *serve.Server) (addr string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	listening := s.Listening()
	go func() { result <- s.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-result
	})
	t.Cleanup(func() { stop() })
	select {
	case <-listening:
		return s.Addr().String(), stop
	case err := <-result:
		result <- err
		t.Fatal(err)
		return "", nil
	}
}

// browser returns a separate HTTP client. Its connections close with the test.
func browser(t *testing.T, tr *http.Transport) *http.Client {
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// certificate returns a certificate for 127.0.0.1, and a pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	cert, _ := certificate(t)
	withCert := &tls.Config{Certificates: []tls.Certificate{cert}}
	for _, tt := range []struct {
		name  string
		o     serve.Options
		field string
		is    error
	}{
		{"no name", serve.Options{Handler: ok}, "Name", nil},
		{"no handler", serve.Options{Name: "a"}, "Handler", nil},
		{"no port", serve.Options{Name: "a", Handler: ok, Addr: "127.0.0.1"}, "Addr", nil},
		{"a port that is none", serve.Options{Name: "a", Handler: ok, Addr: "127.0.0.1:70000"}, "Addr", nil},
		{"plain on all addresses", serve.Options{Name: "a", Handler: ok, Addr: ":0"}, "Addr", serve.ErrPlain},
		{"plain on 0.0.0.0", serve.Options{Name: "a", Handler: ok, Addr: "0.0.0.0:80"}, "Addr", serve.ErrPlain},
		{"plain on [::]", serve.Options{Name: "a", Handler: ok, Addr: "[::]:80"}, "Addr", serve.ErrPlain},
		{"plain on another name", serve.Options{Name: "a", Handler: ok, Addr: "example.com:80"}, "Addr", serve.ErrPlain},
		{"no certificate", serve.Options{Name: "a", Handler: ok, TLS: &tls.Config{}}, "TLS", nil},
		{"old TLS", serve.Options{Name: "a", Handler: ok, TLS: &tls.Config{Certificates: withCert.Certificates, MaxVersion: tls.VersionTLS11}}, "TLS", nil},
		{"negative header", serve.Options{Name: "a", Handler: ok, MaxHeaderBytes: -1}, "MaxHeaderBytes", nil},
		{"negative connections", serve.Options{Name: "a", Handler: ok, MaxConnections: -1}, "MaxConnections", nil},
		{"zero", serve.Options{Name: "a", Handler: ok}, "", nil},
		{"localhost", serve.Options{Name: "a", Handler: ok, Addr: "localhost:0"}, "", nil},
		{"[::1]", serve.Options{Name: "a", Handler: ok, Addr: "[::1]:0"}, "", nil},
		{"plain everywhere, by name", serve.Options{Name: "a", Handler: ok, Addr: ":0", Insecure: true}, "", nil},
		{"TLS everywhere", serve.Options{Name: "a", Handler: ok, Addr: ":0", TLS: withCert}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := serve.New(tt.o)
			if tt.field == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var bad *option.Error
			if !errors.As(err, &bad) || bad.Field != tt.field || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %v, want Options.%s, %v", err, tt.field, tt.is)
			}
		})
	}
}

func TestServerRunsAndRunsAgain(t *testing.T) {
	s, addr, stop := started(t, serve.Options{Handler: ok})
	if host, _, _ := net.SplitHostPort(addr); host != "127.0.0.1" {
		t.Errorf("listens on %s", addr)
	}
	c := browser(t, &http.Transport{})
	if code, body := get(t, c, "http://"+addr); code != 200 || body != "ok" {
		t.Errorf("got %d %q", code, body)
	}
	if err := s.Run(t.Context()); !errors.Is(err, run.ErrRunning) {
		t.Errorf("Run while it runs: %v", err)
	}

	other, err := serve.New(serve.Options{Name: "other", Addr: addr, Handler: ok})
	if err != nil {
		t.Fatal(err)
	}
	var cannot *serve.ListenError
	if err := other.Run(t.Context()); !errors.As(err, &cannot) || !strings.Contains(err.Error(), `"other"`) || !strings.Contains(err.Error(), addr) {
		t.Errorf("Run on a port that is taken: %v", err)
	}

	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if s.Addr() != nil {
		t.Errorf("stopped, at %v", s.Addr())
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("somebody answers")
	}
	addr, stop = ran(t, s)
	if code, _ := get(t, c, "http://"+addr); code != 200 {
		t.Errorf("run again: %d", code)
	}
	if err := stop(); err != nil {
		t.Errorf("Run again: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ended); err != nil {
		t.Errorf("Run with a ctx that has ended: %v", err)
	}
	if got := s.Stats(); got.Requests != 2 || got.Open != 0 {
		t.Errorf("got %+v", got)
	}
}

// A stopping server answers running requests.
func TestStopWaitsForRunningRequests(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	_, addr, stop := started(t, serve.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(inside)
		<-leave
		fmt.Fprint(w, context.Cause(r.Context()))
	}), StopTimeout: time.Hour})
	answer := make(chan string, 1)
	c := browser(t, &http.Transport{})
	go func() {
		resp, err := c.Get("http://" + addr)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		answer <- string(b)
	}()
	<-inside
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for { // until the intake has stopped
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			break
		}
		conn.Close()
	}
	close(leave)
	if got := <-answer; got != "<nil>" {
		t.Errorf("answer %q", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A stopping server does not wait for connections without a request.
func TestStopDoesNotWaitForFreshConnections(t *testing.T) {
	var text bytes.Buffer
	_, addr, stop := started(t, serve.Options{Handler: ok, StopTimeout: 4 * time.Second, Logger: slog.New(slog.NewTextHandler(&text, nil))})
	for range 3 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	get(t, browser(t, &http.Transport{}), "http://"+addr) // earlier connections have been accepted before this one
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "cut off") {
		t.Error(text.String())
	}
}

// After StopTimeout the server ends the remaining requests.
func TestStopTimeoutCutsRequestsOff(t *testing.T) {
	inside, cause := make(chan struct{}), make(chan error, 1)
	_, addr, stop := started(t, serve.Options{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(inside)
		<-r.Context().Done()
		cause <- context.Cause(r.Context())
	}), StopTimeout: time.Millisecond})
	conn := dial(t, addr)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-inside
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := <-cause; err != serve.ErrStopped {
		t.Errorf("cause %v", err)
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	var text bytes.Buffer
	s, addr, stop := started(t, serve.Options{
		Logger: slog.New(slog.NewTextHandler(&text, nil)),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Half", "done")
			switch r.URL.Path {
			case "/late":
				fmt.Fprint(w, "beginning")
				_ = http.NewResponseController(w).Flush()
				panic("late")
			case "/abort":
				panic(http.ErrAbortHandler)
			}
			panic("early")
		}),
	})
	c := browser(t, &http.Transport{})
	for range 50 {
		resp, err := c.Get("http://" + addr)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 500 || strings.Contains(string(b), "early") || resp.Header.Get("X-Half") != "" {
			t.Fatalf("got %d %s %v", resp.StatusCode, b, resp.Header)
		}
	}
	if resp, err := c.Get("http://" + addr + "/late"); err != nil {
		t.Error(err)
	} else if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("an answer that was cut off looks whole")
	}
	if _, err := c.Get("http://" + addr + "/abort"); err == nil {
		t.Error("an aborted answer is there")
	}
	if got := s.Stats(); got.Panics != 51 {
		t.Errorf("%d panics counted, want 51", got.Panics)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "HTTP handler panicked"); n != 1 {
		t.Errorf("%d lines about panics in\n%s", n, text.String())
	}
	if !strings.Contains(text.String(), "panic=early") || !strings.Contains(text.String(), "server_test.go") {
		t.Errorf("the log does not tell where:\n%s", text.String())
	}
}

func TestHandlerTimeoutEndsTheContext(t *testing.T) {
	causes := make(chan error, 2)
	s, addr, _ := started(t, serve.Options{HandlerTimeout: 10 * time.Millisecond,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/begun" {
				w.WriteHeader(202)
			}
			<-r.Context().Done()
			causes <- context.Cause(r.Context())
		})})
	c := browser(t, &http.Transport{})
	for path, want := range map[string]int{"/": 503, "/begun": 202} {
		if code, _ := get(t, c, "http://"+addr+path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
		if err := <-causes; err != serve.ErrHandlerTimeout {
			t.Errorf("%s: cause %v", path, err)
		}
	}
	if got := s.Stats().Timeouts; got != 2 {
		t.Errorf("%d timeouts", got)
	}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// code returns the status code of an answer, or the reason why there is none.
func code(conn net.Conn) string {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err.Error()
	}
	resp.Body.Close()
	return fmt.Sprint(resp.StatusCode)
}

// closed waits until the server has closed the connection.
func closed(conn net.Conn) {
	_, _ = io.Copy(io.Discard, conn)
}
