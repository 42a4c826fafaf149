package serve

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/option"
)

var (
	// ErrPlain says that the server would serve plain HTTP on an address other than loopback.
	ErrPlain = errors.New("plain HTTP on an address other than loopback: configure TLS, or set Insecure")
	// ErrStopped is the cause that ends the ctx of a request which still runs after
	// Options.StopTimeout.
	ErrStopped = errors.New("server stops")
	// ErrHandlerTimeout is the cause that ends the ctx of a request whose handler exceeds
	// Options.HandlerTimeout.
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

// Options configures a Server. New reads the options once. In all durations zero means the default
// and negative means no limit.
type Options struct {
	// Name identifies the server in errors and logs, such as "metrics". It is required.
	Name string
	// Addr is host:port. Empty means a free port on loopback. Without a host, as in ":8443", the
	// server listens on every address of the machine. Port 0 is any free port.
	Addr string
	// Handler answers the requests. It is required. It runs on the goroutine of its connection and
	// must return when the ctx of its request ends. Otherwise it blocks that connection, and Run.
	Handler http.Handler

	// TLS is the TLS configuration. New clones it. The minimum version is always TLS 1.2 or higher.
	// Nil means plain HTTP. Package cert makes configurations.
	TLS *tls.Config
	// Insecure allows plain HTTP on an address other than loopback. Anybody on the network path can
	// then read tokens and change answers.
	Insecure bool
	// HTTP2 enables HTTP/2 over TLS. An attack over HTTP/2 costs the server more than one over
	// HTTP/1.1.
	HTTP2 bool

	// HeaderTimeout bounds the handshake, and the header of each request. Zero means 10 s.
	HeaderTimeout time.Duration
	// ReadTimeout bounds reading a whole request, header included. Zero means 30 s.
	ReadTimeout time.Duration
	// HandlerTimeout is the time from the header of a request to the end of its ctx, with
	// ErrHandlerTimeout as the cause. If the handler then returns without an answer, the answer is
	// a 503. Zero means 30 s.
	HandlerTimeout time.Duration
	// WriteTimeout is the time from the header of a request to the last byte of its answer. Zero
	// means HandlerTimeout plus 30 s.
	WriteTimeout time.Duration
	// IdleTimeout bounds the wait of a connection for its next request. Zero means 90 s.
	IdleTimeout time.Duration
	// StopTimeout is how long Run waits for running requests after ctx has ended. Run then ends
	// their ctx and closes the connections. Zero means 10 s. Negative means no wait.
	StopTimeout time.Duration

	// MaxHeaderBytes bounds the header of a request; net/http adds 4 KiB. Zero means 64 KiB.
	// Negative is an error.
	MaxHeaderBytes int
	// MaxBodyBytes bounds the body of a request. A read beyond it returns a *http.MaxBytesError,
	// and the connection is closed. Zero means 64 MiB. Negative means no bound.
	MaxBodyBytes int64
	// MaxConnections bounds the open connections. A new connection over the bound closes the
	// longest idle connection. Connections without any request are closed first. If all connections
	// are busy, the new one is closed. Zero means 1000. Negative is an error.
	MaxConnections int

	// Logger receives the logs. Nil means slog.Default().
	Logger *slog.Logger
}

// validated returns the options with defaults. The error names the field.
func (o Options) validated() (Options, error) {
	bad := func(field, format string, args ...any) (Options, error) {
		return o, &option.Error{Of: fmt.Sprintf("server %q", o.Name), Field: field, Err: fmt.Errorf(format, args...)}
	}
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:0")
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return bad("Addr", "%w", err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case o.Name == "":
		return bad("Name", "is empty")
	case o.Handler == nil:
		return bad("Handler", "is nil")
	case err != nil:
		return bad("Addr", "port %q is not a number from 0 to 65535", port)
	case o.MaxHeaderBytes < 0:
		return bad("MaxHeaderBytes", "%d is negative", o.MaxHeaderBytes)
	case o.MaxConnections < 0:
		return bad("MaxConnections", "%d is negative", o.MaxConnections)
	}
	if host == "" {
		o.Addr = fmt.Sprintf(":%d", n)
	}
	if o.TLS, err = tlsConfig(o.TLS, o.HTTP2); err != nil {
		return bad("TLS", "%w", err)
	}
	if o.TLS == nil && !o.Insecure && !loopback(host) {
		return bad("Addr", "%s: %w", o.Addr, ErrPlain)
	}
	o.HeaderTimeout = cmp.Or(o.HeaderTimeout, 10*time.Second)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 30*time.Second)
	o.HandlerTimeout = cmp.Or(o.HandlerTimeout, 30*time.Second)
	if o.HandlerTimeout > 0 {
		o.WriteTimeout = cmp.Or(o.WriteTimeout, o.HandlerTimeout+30*time.Second)
	}
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 90*time.Second)
	o.StopTimeout = cmp.Or(o.StopTimeout, 10*time.Second)
	o.MaxHeaderBytes = cmp.Or(o.MaxHeaderBytes, 64<<10)
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, 64<<20)
	o.MaxConnections = cmp.Or(o.MaxConnections, 1000)
	o.Logger = logguard.Logger(o.Logger).With("server", o.Name)
	return o, nil
}

// loopback reports whether a host is the local machine only. The name localhost counts as loopback;
// listen checks the address that it resolves to.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// tlsConfig returns a copy of the configuration with TLS 1.2 as the minimum, or nil for plain HTTP.
func tlsConfig(given *tls.Config, http2 bool) (*tls.Config, error) {
	if given == nil {
		return nil, nil
	}
	completed := func(c *tls.Config) *tls.Config {
		c = c.Clone()
		c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
		if http2 && !slices.Contains(c.NextProtos, "h2") { // the first one that the client has, too, is chosen
			c.NextProtos = slices.Concat([]string{"h2", "http/1.1"}, c.NextProtos)
		}
		return c
	}
	c := completed(given)
	if c.GetCertificate == nil && c.GetConfigForClient == nil && len(c.Certificates) == 0 {
		return nil, errors.New("has no certificate")
	}
	if c.MaxVersion != 0 && c.MaxVersion < tls.VersionTLS12 {
		return nil, errors.New("allows only versions below 1.2")
	}
	if choose := c.GetConfigForClient; choose != nil {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			chosen, err := choose(hello)
			if chosen == nil || err != nil {
				return nil, err
			}
			return completed(chosen), nil
		}
	}
	return c, nil
}
