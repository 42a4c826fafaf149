package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/run"
)

// handlerTime bounds the time of one request, webhooks included, as on a real server.
const handlerTime = 34 * time.Second

// maxAsked bounds how often one request is repeated with more responses.
const maxAsked = 1000

// do answers a request, and calls the webhooks that it needs. The lock is not held during calls: other requests,
// those of the webhooks included, may change the state.
func (s *Server) do(ctx context.Context, req core.Request, ask func(core.Request) core.Answer) core.Answer {
	answer := ask(req)
	if answer.Pending == nil {
		return answer
	}
	limited, cancel := context.WithTimeout(ctx, handlerTime)
	defer cancel()
	for range maxAsked {
		s.answerCalls(limited, answer.Pending)
		if limited.Err() != nil { // too slow, or the client has gone: the request has no effect
			break
		}
		req.Pending = answer.Pending
		if answer = ask(req); answer.Pending == nil {
			return answer
		}
	}
	return req.Refuse(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonTimeout, Code: http.StatusGatewayTimeout,
		Message: "Timeout: request did not complete within requested timeout - context deadline exceeded", Details: &metav1.StatusDetails{}})
}

// encode returns the object of an event, encoded for the client of a watch. It calls the webhooks that this needs.
func (s *Server) encode(ctx context.Context, w *core.Watch, view core.View, e core.Event) ([]byte, error) {
	var p *core.Pending
	for range maxAsked {
		answer, err := w.Encode(view, s.time(), e, p)
		if err != nil || answer.Pending == nil {
			return answer.Body, err
		}
		p = answer.Pending
		s.answerCalls(ctx, p)
	}
	return nil, fmt.Errorf("the object of an event asked for webhooks %d times", maxAsked)
}

// poll returns the new events of a watch. It calls the webhooks that this needs.
func (s *Server) poll(ctx context.Context, w *core.Watch, view core.View) ([]core.Event, error) {
	var p *core.Pending
	for range maxAsked {
		var err error
		if p, err = w.Prepare(view, s.time(), p); err != nil {
			return nil, err
		}
		if p == nil {
			return w.Poll(view), nil
		}
		s.answerCalls(ctx, p)
	}
	return nil, fmt.Errorf("the objects of a watch asked for webhooks %d times", maxAsked)
}

// answerCalls makes the calls of a request concurrently, and waits for all responses.
func (s *Server) answerCalls(ctx context.Context, p *core.Pending) {
	responses := make([]rules.Response, len(p.Calls))
	var all sync.WaitGroup
	for i, c := range p.Calls {
		all.Go(func() { responses[i] = s.hooks.call(ctx, c) })
	}
	all.Wait()
	p.Add(responses)
}

// hooks has the HTTP clients of webhooks. It is safe for concurrent use.
type hooks struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu      sync.Mutex
	clients map[string]*http.Transport // by CA bundle and addresses
	turn    int                        // picks the first address to try, in rotation
	closed  bool                       // connections end with their calls
}

// maxClients bounds the clients that are kept.
const maxClients = 64

func newHooks(dial func(ctx context.Context, network, address string) (net.Conn, error)) *hooks {
	if dial == nil {
		dial = dialHost
	}
	return &hooks{dial: dial, clients: map[string]*http.Transport{}}
}

var hostDialer = net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}

// errNoContainer is the error for a Service whose endpoints are Pods of this server.
var errNoContainer = errors.New("connect: connection refused: the Pods behind the Service run no containers here; let Options.DialWebhook connect it to a program, or give it an EndpointSlice with an address of this machine")

// dialHost connects to an address, unless it is that of a Pod of this server: on the network it would be somebody
// else's.
func dialHost(ctx context.Context, network, address string) (net.Conn, error) {
	if host, err := netip.ParseAddrPort(address); err == nil && control.PodNetwork.Contains(host.Addr().Unmap()) {
		return nil, fmt.Errorf("dial %s %s: %w", network, address, errNoContainer)
	}
	return hostDialer.DialContext(ctx, network, address)
}

// close closes the idle connections. Those of later calls are not kept.
func (h *hooks) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, t := range h.clients {
		t.CloseIdleConnections()
	}
	clear(h.clients)
}

// transport returns the client for a call.
func (h *hooks) transport(c rules.Call) *http.Transport {
	key := strings.Join(c.Addresses, " ") + "\n" + string(c.CABundle)
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.clients[key]; t != nil {
		return t
	}
	if len(h.clients) >= maxClients {
		for _, t := range h.clients {
			t.CloseIdleConnections()
		}
		clear(h.clients)
	}
	t := &http.Transport{
		DisableKeepAlives: h.closed,
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 25, IdleConnTimeout: 90 * time.Second,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return h.connect(ctx, network, address, c.Addresses)
		},
	}
	if len(c.CABundle) > 0 {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		t.TLSClientConfig.RootCAs.AppendCertsFromPEM(c.CABundle) // the rules have found it valid
	}
	h.clients[key] = t
	return t
}

// connect connects to one of the addresses: the first that listens, beginning at another one each time.
func (h *hooks) connect(ctx context.Context, network, address string, addresses []string) (conn net.Conn, err error) {
	if len(addresses) == 0 {
		return h.dial(ctx, network, address)
	}
	h.mu.Lock()
	first := h.turn
	h.turn++
	h.mu.Unlock()
	for i := range addresses {
		if conn, err = h.dial(ctx, network, addresses[(first+i)%len(addresses)]); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// maxTries bounds the tries of a call whose responses have Retry-After.
const maxTries = 11

// call makes one call, and repeats it while the response has Retry-After.
func (h *hooks) call(ctx context.Context, c rules.Call) rules.Response {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.Timeout))
	defer cancel()
	for try := 1; ; try++ {
		response, later := h.once(ctx, c)
		if later < 0 || try == maxTries {
			return response
		}
		if err := run.Sleep(ctx, later); err != nil {
			return rules.Response{Key: c.Key, Err: err.Error()}
		}
	}
}

// once makes one try of a call. later is the Retry-After of the response; negative if it has none.
func (h *hooks) once(ctx context.Context, c rules.Call) (response rules.Response, later time.Duration) {
	response.Key = c.Key
	req, err := http.NewRequestWithContext(ctx, c.Method, c.URL, bytes.NewReader(c.Body))
	if err != nil {
		response.Err = err.Error()
		return response, -1
	}
	if c.Method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, */*")
	req.Header.Set("User-Agent", "kube-apiserver-admission")
	resp, err := h.transport(c).RoundTrip(req)
	if err != nil {
		response.Err = failureText(ctx, err)
		return response, -1
	}
	defer resp.Body.Close()
	response.Code, response.ContentType, response.Location = resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Location")
	if response.Body, err = io.ReadAll(resp.Body); err != nil {
		response.Err = failureText(ctx, err)
	}
	if busy := resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500; busy {
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
			return response, time.Duration(seconds) * time.Second
		}
	}
	return response, -1
}

// failureText returns the text of the error of a call. After the end of ctx it says that, whatever err is.
func failureText(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return ctx.Err().Error()
	}
	return fmt.Sprint(err)
}
