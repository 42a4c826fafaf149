package client

import (
	"bytes"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// newTransport is the transport of client-go's rest: credentials of every sort, proxies, HTTP/2
// with pings after 30 s without a frame (15 s for the answer), HTTP/1.1 where the server has no
// other. In two things it follows files sooner: a token file is read anew after a 401, and a CA
// file when the server's certificate cannot be verified. And it is not shared with other clients of
// the process, since it is made for lists: see tune.
func newTransport(cfg *rest.Config) (http.RoundTripper, error) {
	cfg = rest.CopyConfig(cfg)
	if cfg.Transport == nil && rest.IsConfigTransportTLS(*cfg) { // else there is no HTTP/2
		own(cfg)
	}
	if cfg.BearerTokenFile != "" {
		tokens := transport.NewCachedFileTokenSource(cfg.BearerTokenFile)
		if _, err := tokens.Token(); err != nil {
			return nil, err
		}
		cfg.BearerToken, cfg.BearerTokenFile = "", ""
		cfg.Wrap(transport.ResettableTokenSourceWrapTransport(tokens))
	}
	if cfg.CAFile == "" || len(cfg.CAData) > 0 || cfg.Transport != nil {
		return rest.TransportFor(cfg)
	}
	ca, err := os.ReadFile(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	t := &rotating{cfg: cfg, now: time.Now, ca: ca, checked: time.Now()}
	if t.inner, err = t.with(ca); err != nil {
		return nil, err
	}
	return t, nil
}

// own has rest make a transport for this configuration alone, and tune it.
func own(cfg *rest.Config) {
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	// rest takes configurations for the same that have the same TLS, but none with a dialer.
	cfg.WrapTransport = transport.Wrappers(tune, cfg.WrapTransport)
}

// The HTTP/2 of a transport. Larger frames cost less for each object, and what the server may send
// ahead of the reader is memory.
const (
	frameSize = 256 << 10
	sentAhead = 1 << 20 // for each list or watch
)

// tune sets up a transport that nobody has used.
func tune(rt http.RoundTripper) http.RoundTripper {
	inner := rt
	for {
		w, ok := inner.(utilnet.RoundTripperWrapper)
		if !ok {
			break
		}
		inner = w.WrappedRoundTripper()
	}
	if t, ok := inner.(*http.Transport); ok && t.HTTP2 == nil {
		t.HTTP2 = &http.HTTP2Config{MaxReadFrameSize: frameSize, MaxReceiveBufferPerStream: sentAhead}
	}
	return rt
}

// caPeriod is how often a CA file is looked at while everything goes well.
const caPeriod = time.Minute

// rotating builds a new transport when the CA file has new content: found out at once when a
// certificate cannot be verified, and within caPeriod otherwise. rest alone looks every five
// minutes only, and a server that changes its certificate is out of reach until then.
type rotating struct {
	cfg *rest.Config
	now func() time.Time

	mu      sync.Mutex
	inner   http.RoundTripper
	ca      []byte
	checked time.Time
}

func (t *rotating) with(ca []byte) (http.RoundTripper, error) {
	cfg := rest.CopyConfig(t.cfg)
	cfg.CAFile, cfg.CAData = "", ca
	return rest.TransportFor(cfg)
}

// RoundTrip implements [http.RoundTripper]. A request whose connection failed for the
// certificate was not sent, and is sent again if the CA file has changed.
func (t *rotating) RoundTrip(req *http.Request) (*http.Response, error) {
	inner := t.current(false)
	resp, err := inner.RoundTrip(req)
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); !unknown {
		return resp, err
	}
	again := t.current(true)
	if again == inner {
		return resp, err
	}
	if req.GetBody != nil {
		body, bodyErr := req.GetBody()
		if bodyErr != nil {
			return resp, err
		}
		req = req.Clone(req.Context())
		req.Body = body
	}
	return again.RoundTrip(req)
}

// current returns the transport for what the CA file holds. A file that cannot be read or parsed
// changes nothing: it may be half written.
func (t *rotating) current(look bool) http.RoundTripper {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !look && t.now().Sub(t.checked) < caPeriod {
		return t.inner
	}
	t.checked = t.now()
	ca, err := os.ReadFile(t.cfg.CAFile)
	if err != nil || bytes.Equal(ca, t.ca) {
		return t.inner
	}
	next, err := t.with(ca)
	if err != nil {
		return t.inner
	}
	closeIdle(t.inner)
	t.inner, t.ca = next, ca
	return next
}

// WrappedRoundTripper lets others find the transport beneath.
func (t *rotating) WrappedRoundTripper() http.RoundTripper {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inner
}

func closeIdle(rt http.RoundTripper) { utilnet.CloseIdleConnectionsFor(rt) }
