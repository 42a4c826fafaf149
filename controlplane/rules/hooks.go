package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// A webhook is called outside of this program. Its client here is the real one. Below it is a round tripper that
// takes the response from the request, or notes the call as missing:
//
//	plugin ──▶ REST client ──▶ hookTransport ──▶ Request.Responses: the response
//	                                         └─▶ Answer.Calls: calls without a response
//
// The real client follows redirects, too. Each step is a call.
//
// Random uids and times of the clock in a body are replaced before the call gets its key. So the same request makes
// the same calls.

// errNoResponse is the error of a call whose response is not known yet.
var errNoResponse = errors.New("the response is not known yet")

// hookCalls are the webhook calls of one request to the server.
type hookCalls struct {
	mu      sync.Mutex
	known   map[string]Response
	missing []Call
	// stuck is set by a missing response on which later calls depend. While it is set, no call is noted as missing.
	stuck bool
	// uids has, for each random uid of a review, the uid that replaces it.
	uids map[string]string
}

// hookPurpose says what webhooks are called for.
type hookPurpose int

const (
	mutates hookPurpose = iota
	validates
	converts
)

// hookClients makes the clients of the webhooks of one configuration. bundles are their CA bundles, as PEM.
type hookClients struct {
	purpose hookPurpose
	bundles [][]byte
	lock    *callLock // has the call, for callers without it in their context
}

// wrap is a [webhook.AuthenticationInfoResolverWrapper]: it puts a hookTransport into each client.
func (h *hookClients) wrap(inner webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
	return &webhook.AuthenticationInfoResolverDelegator{
		ClientConfigForFunc: func(host string) (*rest.Config, error) {
			c, err := inner.ClientConfigFor(host)
			return h.config(c, nil), err
		},
		ClientConfigForServiceFunc: func(name, namespace string, port int) (*rest.Config, error) {
			c, err := inner.ClientConfigForService(name, namespace, port)
			return h.config(c, &hookService{name, namespace, int32(port)}), err
		},
	}
}

func (h *hookClients) config(c *rest.Config, s *hookService) *rest.Config {
	if c == nil {
		return nil
	}
	c = rest.CopyConfig(c)
	c.Wrap(func(made http.RoundTripper) http.RoundTripper {
		return &hookTransport{clients: h, service: s, bundle: h.bundleOf(made)}
	})
	return c
}

// bundleOf returns the CA bundle of a transport; nil if it has none.
func (h *hookClients) bundleOf(made http.RoundTripper) []byte {
	c, err := utilnet.TLSClientConfig(made)
	if err != nil || c == nil || c.RootCAs == nil {
		return nil
	}
	for _, b := range h.bundles {
		pool := x509.NewCertPool()
		if pool.AppendCertsFromPEM(b); pool.Equal(c.RootCAs) {
			return b
		}
	}
	return nil
}

// hookTransport answers the requests of one client.
type hookTransport struct {
	clients *hookClients
	service *hookService // nil: by URL
	bundle  []byte
}

func (t *hookTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c, ok := r.Context().Value(callKey{}).(*call)
	if !ok {
		c = t.clients.lock.call
	}
	begin, redirects := r, 0 // the request that was redirected to this one
	for ; begin.Response != nil; redirects++ {
		begin = begin.Response.Request
	}
	out := Call{Method: r.Method, URL: r.URL.String(), CABundle: t.bundle, Timeout: int64(timeoutOf(begin.URL))}
	chosen, isNew := "", false
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if out.Body, chosen, isNew, err = c.reviewed(begin.URL, body); err != nil {
			return nil, err
		}
	}
	var err error
	if t.service != nil && r.URL.Host == begin.URL.Host {
		if out.Addresses, err = t.service.addresses(c); err != nil {
			return nil, err
		}
	}
	out.Key = out.hash(redirects)
	known, err := c.response(out, t.clients.purpose)
	if err != nil {
		return nil, err
	}
	if known.Err != "" && known.Code == 0 {
		return nil, failureOf(known.Err)
	}
	answer := io.Reader(bytes.NewReader(c.restoreUIDs(known.Body, chosen, isNew)))
	if known.Err != "" {
		answer = io.MultiReader(answer, failing{failureOf(known.Err)})
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", known.Code, http.StatusText(known.Code)), StatusCode: known.Code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {known.ContentType}, "Location": {known.Location}}, Body: io.NopCloser(answer), ContentLength: -1, Request: r}, nil
}

// hash returns the key of a call that has none yet.
func (c Call) hash(redirects int) string {
	text, err := AppendMessage(nil, &c)
	if err != nil {
		panic(err) // messages have such fields only
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(text, redirects)))
}

// response returns the response to a call. If the request has none, it notes the call and returns errNoResponse.
func (c *call) response(out Call, purpose hookPurpose) (Response, error) {
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	if r, ok := c.hooks.known[out.Key]; ok {
		return r, nil
	}
	if !c.hooks.stuck {
		c.hooks.missing = append(c.hooks.missing, out)
		c.hooks.stuck = purpose != validates // validating webhooks do not see what the others say
	}
	return Response{}, errNoResponse
}

// reviewed returns the body of a review with uids and times that depend on nothing but the request. chosen is the
// random uid of the review. isNew reports whether the body had the uid of a new object.
func (c *call) reviewed(to *url.URL, body []byte) (text []byte, chosen string, isNew bool, err error) {
	var review struct{ Request struct{ UID string } }
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, "", false, err
	}
	chosen = review.Request.UID
	var known []byte
	for _, o := range c.req.Objects {
		known = append(known, o...)
	}
	c.mu.Lock()
	isNew = c.chosenUID != "" && bytes.Contains(body, []byte(c.chosenUID))
	body = c.replaceTimes(c.replaceUID(body), known)
	of := c.uid
	c.mu.Unlock()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %s", of, to, bytes.ReplaceAll(body, []byte(chosen), nil)))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // a random uuid, by its form
	uid := fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	c.hooks.uids[chosen] = uid
	return bytes.ReplaceAll(bytes.TrimSpace(body), []byte(chosen), []byte(uid)), chosen, isNew, nil
}

// restoreUIDs puts the random uids back into a response. It undoes [call.reviewed] for its reader.
func (c *call) restoreUIDs(body []byte, chosen string, isNew bool) []byte {
	c.hooks.mu.Lock()
	if chosen != "" {
		body = bytes.ReplaceAll(body, []byte(c.hooks.uids[chosen]), []byte(chosen))
	}
	c.hooks.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !isNew || c.uid == "" {
		return body
	}
	return bytes.ReplaceAll(body, []byte(c.uid), []byte(c.chosenUID))
}

// retry says that the next calls do not depend on the missing response.
func (h *hookCalls) retry() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stuck = false
}

// replaceUIDs replaces the random uids of reviews in the body of an answer.
func (h *hookCalls) replaceUIDs(body []byte) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	for chosen, uid := range h.uids {
		body = bytes.ReplaceAll(body, []byte(chosen), []byte(uid))
	}
	return body
}

// timeoutOf returns the timeout that a client has written into a URL.
func timeoutOf(u *url.URL) time.Duration {
	d, err := time.ParseDuration(u.Query().Get("timeout"))
	if err != nil {
		return 30 * time.Second // that of the clients
	}
	return d
}

// failureOf returns an error with a text. Errors that clients compare with are returned as themselves.
func failureOf(text string) error {
	for _, err := range []error{context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF} {
		if err.Error() == text {
			return err
		}
	}
	return errors.New(text)
}

// failing is a body whose Read returns err.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
