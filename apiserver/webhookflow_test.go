package apiserver_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
)

// memorySession is a conversation with a server in memory, in a namespace of its own.
func memorySession(t *testing.T, o apiserver.Options) *session {
	t.Helper()
	return sessionOf(t, apiserver.Start(t, o))
}

// sessionOf is a conversation with a server, in the namespace "hooked".
func sessionOf(t *testing.T, server *apiserver.Server) *session {
	t.Helper()
	transport, err := rest.TransportFor(server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, client: &http.Client{Transport: transport}, url: server.URL(), ns: "hooked", names: map[string]string{}}
	t.Cleanup(s.client.CloseIdleConnections)
	s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"hooked"}}`)
	return s
}

// must sends a request that has to be answered with a code.
func (s *session) must(code int, method, path, body string, header ...string) string {
	s.t.Helper()
	got, _, text := s.send(method, s.path(path), body, header...)
	if got != code {
		s.t.Errorf("%s %s: %d %s, want %d", method, path, got, text, code)
	}
	return string(text)
}

// A webhook may use the server that calls it.
func TestAWebhookWritesToItsServer(t *testing.T) {
	s := memorySession(t, apiserver.Options{})
	h := newHooks(s)
	h.on("/m", func(v review) string {
		s.must(201, "POST", "~/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"of-`+v.Request.Name+`"}}`)
		s.must(200, "GET", "~/secrets", "")
		return patched(addLabel)(v)
	})
	h.configure("Mutating", "one", h.hook("/m", ""))
	if text := s.must(201, "POST", "~/configmaps", configMapOf("a")); !strings.Contains(text, `"mutated":"yes"`) {
		t.Errorf("got %s", text)
	}
	s.must(200, "GET", "~/secrets/of-a", "")
}

// An object that changes while a webhook looks at it is looked at again, and none of the changes is lost.
func TestAnObjectChangesUnderAWebhook(t *testing.T) {
	s := memorySession(t, apiserver.Options{})
	h := newHooks(s)
	s.must(201, "POST", "~/configmaps", configMapOf("a"))
	asked := 0
	h.on("/v", func(v review) string {
		if asked++; asked == 1 {
			s.must(200, "PATCH", "~/configmaps/a", `{"metadata":{"labels":{"other":"x"}},"data":{"other":"x"}}`, "Content-Type", mergePatch, "User-Agent", "other")
		}
		return allow()(v)
	})
	h.configure("Validating", "one", h.hook("/v", `"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["UPDATE"],"resources":["configmaps"]}],
		"matchConditions":[{"name":"first","expression":"!has(object.metadata.labels) || object.data.k == 'w'"}]`))
	text := s.must(200, "PATCH", "~/configmaps/a", `{"data":{"k":"w"}}`, "Content-Type", mergePatch)
	if !strings.Contains(text, `"k":"w"`) || !strings.Contains(text, `"other":"x"`) {
		t.Errorf("a change is lost: %s", text)
	}
	if asked != 2 {
		t.Errorf("the webhook was asked %d times, want 2", asked)
	}
}

// Creates at the same time all pass through their webhooks, and each has an identity of its own.
func TestWebhooksAtOnce(t *testing.T) {
	s := memorySession(t, apiserver.Options{})
	h := newHooks(s)
	h.on("/m", patched(addLabel))
	h.on("/v", allow())
	h.configure("Mutating", "one", h.hook("/m", ""))
	h.configure("Validating", "two", h.hook("/v", ""))
	const n = 50
	var mu sync.Mutex
	uids := map[string]bool{}
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			text := s.must(201, "POST", "~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"made-"},"data":{"k":"v"}}`)
			_, rest, _ := strings.Cut(text, `"uid":"`)
			uid, _, _ := strings.Cut(rest, `"`)
			mu.Lock()
			defer mu.Unlock()
			uids[uid] = true
			if !strings.Contains(text, `"mutated":"yes"`) {
				t.Errorf("not mutated: %s", text)
			}
		})
	}
	all.Wait()
	if len(uids) != n {
		t.Errorf("%d objects have %d uids", n, len(uids))
	}
}

// Custom resources are parameters of policies. The real server needs half a minute to learn of their kind, so it is
// not asked.
func TestCustomParameters(t *testing.T) {
	s := memorySession(t, apiserver.Options{})
	s.must(201, "POST", definitions, strings.ReplaceAll(definition("widgets", "Widget", widgetVersion), "NS", s.ns))
	s.must(201, "POST", widgets, strings.ReplaceAll(widget("limits", `{"size":2}`), "NS", s.ns))
	s.must(201, "POST", fmt.Sprintf(policyPath, "validating", "policies"), `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"a"},"spec":{`+onMaps+`,
		"paramKind":{"apiVersion":"hooked.example.com/v1","kind":"Widget"},"validations":[{"expression":"size(object.data) < params.spec.size","messageExpression":"'not below ' + string(params.spec.size)"}]}}`)
	s.must(201, "POST", fmt.Sprintf(policyPath, "validating", "policybindings"), `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"a"},
		"spec":{"policyName":"a","validationActions":["Deny"],"paramRef":{"name":"limits","namespace":"hooked","parameterNotFoundAction":"Deny"}}}`)
	s.must(201, "POST", "~/configmaps", configMapOf("a"))
	if text := s.must(422, "POST", "~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"k":"v","l":"w"}}`); !strings.Contains(text, "not below 2") {
		t.Errorf("got %s", text)
	}
}

// piped is a listener of pipes.
type piped struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func newPiped() *piped { return &piped{conns: make(chan net.Conn), ended: make(chan struct{})} }

// serve serves webhooks by HTTPS until the function that it returns is called.
func (p *piped) serve(h http.Handler) (end func()) {
	hooks := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{authority().server}}, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), Handler: h,
	}
	go hooks.ServeTLS(p, "", "") // Close waits for its end
	return func() { hooks.Close() }
}

func (p *piped) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *piped) Close() error   { p.once.Do(func() { close(p.ended) }); return nil }
func (p *piped) Addr() net.Addr { return &net.UnixAddr{Name: "webhooks", Net: "unix"} }

// dial connects to the listener.
func (p *piped) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// In a bubble a webhook that hangs, dies or is slow costs no time.
func TestWebhooksInABubble(t *testing.T) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	authority()
	synctest.Test(t, func(t *testing.T) {
		p := newPiped()
		released := make(chan struct{})
		defer p.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return // the caller has gone
			}
			switch r.URL.Path {
			case "/hangs":
				select {
				case <-released:
				case <-r.Context().Done():
				}
			case "/dies":
				panic(http.ErrAbortHandler)
			case "/slow":
				time.Sleep(7 * time.Second)
			}
			_, _ = io.WriteString(w, "nonsense") // a caller that has gone needs no answer
		}))()
		defer close(released)
		s := memorySession(t, apiserver.Options{InMemory: true, DialWebhook: p.dial})
		for _, c := range []struct {
			path, text string
			takes      time.Duration
		}{
			{"/hangs", "context deadline exceeded", 10 * time.Second},
			{"/dies", "EOF", 0},
			{"/slow", "couldn't get version/kind", 7 * time.Second},
		} {
			h := &hookServer{s: s, url: "https://localhost", answer: map[string]func(review) string{}}
			path := fmt.Sprintf(hookConfigurations, "validating")
			s.must(201, "POST", path, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"one"},"webhooks":[`+h.hook(c.path, "")+`]}`)
			began := time.Now()
			if text := s.must(500, "POST", "~/configmaps", configMapOf("a")); !strings.Contains(text, c.text) {
				t.Errorf("%s: got %s, want %s", c.path, text, c.text)
			}
			if d := time.Since(began); d != c.takes {
				t.Errorf("%s: it took %v, want %v", c.path, d, c.takes)
			}
			s.must(200, "DELETE", path+"/one", "")
		}
	})
}
