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
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// handlerTime is how long the handlers of a real server work on a request.
const handlerTime = 34 * time.Second

// maxAsked bounds how often one request is asked anew.
const maxAsked = 1000

// errSlow ends the calls of a request that has taken too long.
var errSlow = errors.New("the request has taken too long")

// do answers a request. The webhooks that it needs are called while others may change the state, the webhooks
// included.
func (s *Server) do(ctx context.Context, req core.Request, ask func(core.Request) core.Answer) core.Answer {
	limited, cancel := context.WithTimeoutCause(ctx, handlerTime, errSlow)
	defer cancel()
	for range maxAsked {
		answer := ask(req)
		if answer.Pending == nil {
			return answer
		}
		s.answerCalls(limited, answer.Pending)
		if errors.Is(context.Cause(limited), errSlow) {
			break
		}
		req.Pending = answer.Pending
	}
	return req.Refuse(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonTimeout, Code: http.StatusGatewayTimeout,
		Message: "Timeout: request did not complete within requested timeout - context deadline exceeded", Details: &metav1.StatusDetails{}})
}

// encode returns the object of an event as the client of a watch takes it.
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

// answerCalls makes the calls of a request at the same time, and waits for all.
func (s *Server) answerCalls(ctx context.Context, p *core.Pending) {
	responses := make([]rules.Response, len(p.Calls))
	var all sync.WaitGroup
	for i, c := range p.Calls {
		all.Go(func() { responses[i] = s.hooks.call(ctx, c) })
	}
	all.Wait()
	p.Add(responses)
}

// hooks are the clients of webhooks.
type hooks struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu      sync.Mutex
	clients map[string]*http.Transport // by certificates and addresses
	turn    int                        // of the addresses of a Service
}

// maxClients bounds the clients that are kept.
const maxClients = 64

func newHooks(dial func(ctx context.Context, network, address string) (net.Conn, error)) *hooks {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return &hooks{dial: dial, clients: map[string]*http.Transport{}}
}

// close ends the connections that nobody uses.
func (h *hooks) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.clients {
		t.CloseIdleConnections()
	}
	clear(h.clients)
}

// transport returns the client of a call.
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
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 25, IdleConnTimeout: 90 * time.Second,
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

// connect connects to one of the addresses in turn, or to the next that listens.
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

// maxTries is how often a webhook is called that asks to be called later.
const maxTries = 11

// call makes one call. A webhook that is busy and says when to come again is called again.
func (h *hooks) call(ctx context.Context, c rules.Call) rules.Response {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.Timeout))
	defer cancel()
	for try := 1; ; try++ {
		response, later := h.once(ctx, c)
		if later < 0 || try == maxTries {
			return response
		}
		timer := time.NewTimer(later)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return rules.Response{Key: c.Key, Err: ctx.Err().Error()}
		}
	}
}

// once makes a call. The webhook wants it to be repeated after some time unless that is negative.
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

// failureText is the text of an error of a call. One that ran out of time says so, whatever it was doing.
func failureText(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return ctx.Err().Error()
	}
	return fmt.Sprint(err)
}
