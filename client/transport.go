package client

import (
	"bytes"
	"context"
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

// newTransport makes the transport of client-go's rest. That supports all credentials, proxies, HTTP/2
// with a ping after 30 s without a frame (15 s for the answer), and HTTP/1.1 for other servers.
//
// The transport reads changed files sooner: a token file after a 401, and a CA file when the server's
// certificate cannot be verified. It is not shared with other clients of the process, because tune sets
// it up for lists.
func newTransport(cfg *rest.Config) (http.RoundTripper, error) {
	cfg = rest.CopyConfig(cfg)
	if cfg.Transport == nil && rest.IsConfigTransportTLS(*cfg) { // HTTP/2 needs TLS
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

// own makes rest return a new transport for this configuration, and tune it.
func own(cfg *rest.Config) {
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	// rest shares transports between configurations with equal TLS, unless they have a dialer.
	cfg.WrapTransport = transport.Wrappers(tune, cfg.WrapTransport)
}

// The HTTP/2 settings of a transport. Larger frames cost less CPU for each object. Bytes that the server
// may send ahead of the reader cost memory.
const (
	frameSize = 256 << 10
	sentAhead = 1 << 20 // of each list or watch
)

// tune sets up a transport before its first use.
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

// caPeriod is how often a CA file is read while connections succeed.
const caPeriod = time.Minute

// rotating makes a new transport when the content of the CA file changes. It reads the file at once when
// a certificate cannot be verified, and every caPeriod otherwise. rest alone reads it every five
// minutes, and cannot reach a server with a new certificate until then. A file system that hangs delays no
// other request: the former transport serves.
type rotating struct {
	cfg *rest.Config
	now func() time.Time

	mu      sync.Mutex
	inner   http.RoundTripper
	ca      []byte
	checked time.Time
	look    chan struct{} // closed when the present look at the file ends; nil: there is none
}

func (t *rotating) with(ca []byte) (http.RoundTripper, error) {
	cfg := rest.CopyConfig(t.cfg)
	cfg.CAFile, cfg.CAData = "", ca
	return rest.TransportFor(cfg)
}

// RoundTrip implements [http.RoundTripper]. If the server's certificate cannot be verified, the request
// was not sent. RoundTrip then sends it on a new transport if the CA file has changed.
func (t *rotating) RoundTrip(req *http.Request) (*http.Response, error) {
	inner := t.current(req.Context(), false)
	resp, err := inner.RoundTrip(req)
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); !unknown {
		return resp, err
	}
	renewed := t.current(req.Context(), true)
	if renewed == inner {
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
	return renewed.RoundTrip(req)
}

// lookWait is how long a request waits for a look at the file that it does not need.
const lookWait = 100 * time.Millisecond

// current returns the transport for the content of the CA file. If needed, it looks at the file now, and waits
// for that until ctx ends. No lock is held while the file is read.
func (t *rotating) current(ctx context.Context, needed bool) http.RoundTripper {
	t.mu.Lock()
	if !needed && (t.look != nil || t.now().Sub(t.checked) < caPeriod) {
		defer t.mu.Unlock()
		return t.inner
	}
	look := t.look
	if look == nil {
		look = make(chan struct{})
		t.look, t.checked = look, t.now()
		go t.reread(look)
	}
	t.mu.Unlock()
	if !needed {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lookWait)
		defer cancel()
	}
	select {
	case <-look:
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inner
}

// reread makes a new transport if the file has another content. It ignores a file that cannot be read or
// parsed: the file may be half written.
func (t *rotating) reread(look chan struct{}) {
	var next http.RoundTripper
	ca, err := os.ReadFile(t.cfg.CAFile)
	t.mu.Lock()
	was := t.ca
	t.mu.Unlock()
	if err == nil && !bytes.Equal(ca, was) {
		next, _ = t.with(ca)
	}
	t.mu.Lock()
	former := t.inner
	if next != nil {
		t.inner, t.ca = next, ca
	}
	t.look = nil
	close(look)
	t.mu.Unlock()
	if next != nil {
		closeIdle(former)
	}
}

// WrappedRoundTripper returns the transport inside, for apimachinery's net package.
func (t *rotating) WrappedRoundTripper() http.RoundTripper {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inner
}

func closeIdle(rt http.RoundTripper) { utilnet.CloseIdleConnectionsFor(rt) }
