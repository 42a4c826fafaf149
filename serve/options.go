package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/option"
)

var (
	// ErrNoName says that a server was given no name.
	ErrNoName = errors.New("server has no name")
	// ErrNoHandler says that a server has nothing to serve.
	ErrNoHandler = errors.New("server has no handler")
	// ErrPlain says that a server would talk plain HTTP on an address that is not loopback.
	ErrPlain = errors.New("plain HTTP beyond loopback: give it a certificate, or say Insecure")
	// ErrNoCertificate says that TLS was asked for without a certificate.
	ErrNoCertificate = errors.New("TLS has no certificate")
	// ErrOldTLS says that the TLS configuration allows nothing that is new enough.
	ErrOldTLS = errors.New("TLS 1.2 is the least")
	// ErrStopped is the cause for which the ctx of a request ends that is still being answered when
	// the time to stop is over.
	ErrStopped = errors.New("server stops")
	// ErrHandlerTimeout is the cause for which the ctx of a request ends whose handler takes longer
	// than Options.HandlerTimeout.
	ErrHandlerTimeout = errors.New("handler timed out")
)

// ListenError says that a server could not listen.
type ListenError struct {
	Server string
	Addr   string
	Err    error
}

func (e *ListenError) Error() string {
	return fmt.Sprintf("server %q: listen on %s: %s", e.Server, e.Addr, e.Err)
}

func (e *ListenError) Unwrap() error { return e.Err }

// Options say what a Server serves, where, and what it bears. They are read by New, once. In all
// durations zero is the default and negative is no limit.
type Options struct {
	// Name is what errors and logs call the server: "metrics". It is needed.
	Name string
	// Addr is host:port. Empty: a free port on loopback. Without a host it is every address of the
	// machine, as in ":8443"; port 0 is any free one.
	Addr string
	// Handler answers. It is needed. It is called on the goroutine of its connection: one that does
	// not return when the ctx of its request ends holds that connection, and Run.
	Handler http.Handler

	// TLS is the configuration of TLS, which is cloned. Less than TLS 1.2 is never spoken. Nil
	// without a GetCertificate: plain HTTP.
	TLS *tls.Config
	// GetCertificate is asked at each handshake; it takes the place of that in TLS. See package cert.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Insecure allows plain HTTP on an address that is not loopback: whoever sees the traffic can
	// then read tokens and change answers.
	Insecure bool
	// HTTP2 speaks HTTP/2 as well, over TLS. It costs more under attack than HTTP/1.1 does.
	HTTP2 bool

	// HeaderTimeout is how long the handshake, and the header of a request, may take. Zero: 10 s.
	HeaderTimeout time.Duration
	// ReadTimeout is how long a whole request may take to come in, the header included. Zero: 30 s.
	ReadTimeout time.Duration
	// HandlerTimeout is how long after its header came in the ctx of a request ends, with
	// ErrHandlerTimeout as the cause. What has not begun to be answered when the handler then returns
	// is a 503. Zero: 30 s.
	HandlerTimeout time.Duration
	// WriteTimeout is how long after the header of its request an answer may take until its last
	// byte. Zero: HandlerTimeout and 30 s more.
	WriteTimeout time.Duration
	// IdleTimeout is how long a connection may wait for its next request. Zero: 90 s.
	IdleTimeout time.Duration
	// StopTimeout is how long Run waits, once told to stop, for requests that are being answered;
	// then it ends their ctx and closes the connections. Zero: 10 s. Negative: it does not wait.
	StopTimeout time.Duration

	// MaxHeaderBytes bounds the header of a request; net/http adds 4 KiB. Zero: 64 KiB. Negative is
	// an error.
	MaxHeaderBytes int
	// MaxBodyBytes bounds what a handler can read of a body: after that reads are a
	// *http.MaxBytesError, and the connection is closed. Zero: 64 MiB. Negative: no bound.
	MaxBodyBytes int64
	// MaxConnections bounds the open connections. When one too many comes, that which has waited
	// longest without a request being answered on it is closed, those first that never had one; if
	// all are busy the new one is. Zero: 1000. Negative is an error.
	MaxConnections int

	// Logger is where a person is told. Nil: slog.Default().
	Logger *slog.Logger
}

func (o Options) checked() (Options, error) {
	bad := func(field string, err error) (Options, error) {
		return o, &option.Error{Of: fmt.Sprintf("server %q", o.Name), Field: field, Err: err}
	}
	if o.Name == "" {
		return bad("Name", ErrNoName)
	}
	if o.Handler == nil {
		return bad("Handler", ErrNoHandler)
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return bad("Addr", err)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return bad("Addr", fmt.Errorf("%q is no port: 0 to 65535", port))
	} else if o.Addr == ":"+port {
		o.Addr = fmt.Sprintf(":%d", n)
	}
	if o.MaxHeaderBytes < 0 {
		return bad("MaxHeaderBytes", fmt.Errorf("%d is negative", o.MaxHeaderBytes))
	}
	if o.MaxConnections < 0 {
		return bad("MaxConnections", fmt.Errorf("%d is negative", o.MaxConnections))
	}
	if o.TLS, err = tlsConfig(o.TLS, o.GetCertificate); err != nil {
		return bad("TLS", err)
	}
	if o.TLS == nil && !o.Insecure && !loopback(host) {
		return bad("Addr", fmt.Errorf("%s: %w", o.Addr, ErrPlain))
	}

	def(&o.HeaderTimeout, 10*time.Second)
	def(&o.ReadTimeout, 30*time.Second)
	def(&o.HandlerTimeout, 30*time.Second)
	if o.HandlerTimeout > 0 {
		def(&o.WriteTimeout, o.HandlerTimeout+30*time.Second)
	}
	def(&o.IdleTimeout, 90*time.Second)
	def(&o.StopTimeout, 10*time.Second)
	if o.MaxHeaderBytes == 0 {
		o.MaxHeaderBytes = 64 << 10
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = 64 << 20
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = 1000
	}
	o.Logger = logguard.Logger(o.Logger)
	o.Logger = o.Logger.With("server", o.Name)
	return o, nil
}

// def puts a default in the place of zero.
func def(d *time.Duration, to time.Duration) {
	if *d == 0 {
		*d = to
	}
}

// loopback reports whether a host is the machine itself and nobody else. A name is taken at its
// word; what it stands for is looked at again when the server listens.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// tlsConfig is a configuration of its own, of TLS 1.2 at least, or nil for plain HTTP.
func tlsConfig(given *tls.Config, get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) (*tls.Config, error) {
	if given == nil && get == nil {
		return nil, nil
	}
	c := &tls.Config{}
	if given != nil {
		c = given.Clone()
	}
	if get != nil {
		c.GetCertificate = get
	}
	if c.GetCertificate == nil && c.GetConfigForClient == nil && len(c.Certificates) == 0 {
		return nil, ErrNoCertificate
	}
	c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
	if c.MaxVersion != 0 && c.MaxVersion < tls.VersionTLS12 {
		return nil, ErrOldTLS
	}
	if choose := c.GetConfigForClient; choose != nil {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			chosen, err := choose(hello)
			if chosen == nil || err != nil {
				return nil, err
			}
			chosen = chosen.Clone()
			chosen.MinVersion = max(chosen.MinVersion, tls.VersionTLS12)
			return chosen, nil
		}
	}
	return c, nil
}
