package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// authority signs the certificates of webhooks. All servers of a test binary have one.
var authority = sync.OnceValue(func() *certificates {
	for {
		if c := newAuthority(); !strings.Contains(c.bundle, "NS") { // which is replaced in bodies
			return c
		}
	}
})

func newAuthority() *certificates {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // there is randomness
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "webhooks"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
		DNSNames: []string{"localhost", "*.webhooks.svc"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err) // the template is valid
	}
	return &certificates{
		bundle: base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		server: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
	}
}

type certificates struct {
	bundle string // PEM in base64
	server tls.Certificate
}

// hookServer is an HTTPS server of webhooks. What a webhook answers depends on the path.
type hookServer struct {
	s      *session
	url    string
	server *httptest.Server

	mu     sync.Mutex
	answer map[string]func(review) string
	calls  []hookCall // the calls since asked or forget
}

// hookCall is one call of a webhook.
type hookCall struct {
	head string
	review
}

// outdated tells that the server asks the same again in next, about a newer stored object. The real server begins
// updates and deletes with an object of its cache, which may be old. It then asks again.
//
// A delete at once of an object that is being deleted slowly has two parts, and each asks: it first shortens the grace
// period. The second part begins with the cache, too, so its first question may be the same as that of the first part.
func (c hookCall) outdated(next hookCall) bool {
	a, b := c.Request, next.Request
	if c.head != next.head || a.Operation != b.Operation || a.Name != b.Name || a.SubResource != b.SubResource {
		return false
	}
	if a.OldObject.Metadata.ResourceVersion == b.OldObject.Metadata.ResourceVersion {
		return a.Operation == "DELETE" && c.slowly()
	}
	return !c.slowly() || next.slowly()
}

// slowly tells that the object is being deleted, and has time left for it.
func (r review) slowly() bool { return r.Request.OldObject.Metadata.DeletionGracePeriodSeconds > 0 }

// review has the fields of reviews of all sorts.
type review struct {
	text    []byte
	gone    <-chan struct{} // closed when the caller has gone
	Request struct {
		UID, Operation, Name string
		SubResource          string
		DryRun               bool
		Object               json.RawMessage
		OldObject            struct {
			Metadata struct {
				ResourceVersion            string
				DeletionGracePeriodSeconds int64
			}
		}
		Objects           []map[string]any
		DesiredAPIVersion string
	}
}

// newHooks starts the webhooks of a session. It ends with the test.
func newHooks(s *session) *hookServer {
	s.t.Helper()
	h := &hookServer{s: s, answer: map[string]func(review) string{"/probe": deny(`{"message":"ready"}`)}}
	h.server = httptest.NewUnstartedServer(h)
	h.server.TLS = &tls.Config{Certificates: []tls.Certificate{authority().server}}
	h.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of certificates that are not trusted
	h.server.StartTLS()
	s.t.Cleanup(h.server.Close)
	h.url = h.server.URL
	s.names[strings.TrimPrefix(h.url, "https://")] = "HOOKS"
	s.names[authority().bundle] = "BUNDLE"
	return h
}

func (h *hookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller has gone
	}
	v := review{text: body, gone: r.Context().Done()}
	if err := json.Unmarshal(body, &v); err != nil && r.Method == http.MethodPost {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path, _, _ := strings.Cut(r.URL.Path, "!")
	h.mu.Lock()
	answer := h.answer[path]
	if path != "/probe" {
		h.calls = append(h.calls, hookCall{fmt.Sprintf("%s %s %q %q", r.Method, r.URL, r.Header.Get("Content-Type"), r.Header.Get("Accept")), v})
	}
	h.mu.Unlock()
	if answer == nil {
		http.Error(w, "no such webhook", http.StatusNotFound)
		return
	}
	text := answer(v)
	if code, rest, ok := strings.Cut(text, " "); ok && len(code) == 3 {
		w.Header().Set("Content-Type", "application/json")
		var n int
		_, _ = fmt.Sscan(code, &n) // three digits
		if n/100 == 3 && rest != "" {
			w.Header().Set("Location", rest)
		}
		w.WriteHeader(n)
		text = rest
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text) // a caller that has gone needs no answer
}

// on sets what a webhook answers.
func (h *hookServer) on(path string, answer func(review) string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer[path] = answer
}

// asked writes down the calls of webhooks since the last time. It first waits until the cache of the real server has
// the present objects of collections: updates and deletes begin with cached objects, and call again if these are old.
func (h *hookServer) asked(collections ...string) {
	h.s.t.Helper()
	for _, path := range append(collections, "~/configmaps") {
		h.s.send("GET", h.s.path(path), "")
	}
	h.mu.Lock()
	calls := h.calls
	h.calls = nil
	h.mu.Unlock()
	for i, c := range calls {
		if h.s.real && i+1 < len(calls) && c.outdated(calls[i+1]) {
			continue
		}
		h.s.note("webhook %s\n%s", c.head, h.s.normal(c.text))
	}
	if len(calls) == 0 {
		h.s.note("no webhook was asked")
	}
}

// forget drops the calls so far.
func (h *hookServer) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = nil
}

const admissionReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,%s}}`

// allow allows a request. More are fields of the response.
func allow(more ...string) func(review) string {
	return func(v review) string {
		return fmt.Sprintf(admissionReview, v.Request.UID, strings.Join(append([]string{`"allowed":true`}, more...), ","))
	}
}

// deny denies a request with a status.
func deny(status string, more ...string) func(review) string {
	return func(v review) string {
		return fmt.Sprintf(admissionReview, v.Request.UID, strings.Join(append([]string{`"allowed":false,"status":` + status}, more...), ","))
	}
}

// patched allows a request and changes its object by a JSON patch.
func patched(patch string, more ...string) func(review) string {
	return allow(append([]string{`"patchType":"JSONPatch","patch":"` + base64.StdEncoding.EncodeToString([]byte(patch)) + `"`}, more...)...)
}

// hook is one webhook of a configuration as JSON. More replaces its fields.
func (h *hookServer) hook(path string, more string) string {
	name := strings.NewReplacer("/", "", "!", "").Replace(path) + ".example.com"
	fields := map[string]json.RawMessage{}
	base := fmt.Sprintf(`{"name":%q,"clientConfig":{"url":%q,"caBundle":%q},"sideEffects":"None","admissionReviewVersions":["v1"],
		"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":%q}},"objectSelector":{"matchExpressions":[{"key":"probe","operator":"DoesNotExist"}]},
		"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}`, name, h.url+path, authority().bundle, h.s.ns)
	for _, text := range []string{base, "{" + more + "}"} {
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			h.s.t.Fatalf("%s: %v", text, err)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		h.s.t.Fatal(err)
	}
	return string(text)
}

const hookConfigurations = "/apis/admissionregistration.k8s.io/v1/%swebhookconfigurations"

// configure creates a configuration and waits until it has an effect. It is deleted at the end of the test.
func (h *hookServer) configure(kind, name string, hooks ...string) {
	h.s.t.Helper()
	probe := h.hook("/probe", fmt.Sprintf(`"name":"probe.example.com","objectSelector":{"matchLabels":{"probe":%q}},"sideEffects":"None"`, name))
	path := fmt.Sprintf(hookConfigurations, strings.ToLower(kind))
	name += "-" + h.s.ns
	h.s.post(path, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"%sWebhookConfiguration","metadata":{"name":%q},"webhooks":[%s]}`,
		kind, name, strings.Join(append([]string{probe}, hooks...), ",")))
	h.s.t.Cleanup(func() { h.s.discard(path + "/" + name) })
	h.s.probe(strings.TrimSuffix(name, "-"+h.s.ns), "ready")
	h.forget()
}

// remove deletes a configuration and waits until it has no effect.
func (h *hookServer) remove(kind, name string) {
	h.s.t.Helper()
	h.s.discard(fmt.Sprintf(hookConfigurations, strings.ToLower(kind)) + "/" + name + "-" + h.s.ns)
	h.s.probe(name, `"kind":"ConfigMap"`)
}

// discard deletes an object, and writes nothing down.
func (s *session) discard(path string) {
	// The context of the test has ended if this runs at its end.
	req, err := http.NewRequest("DELETE", s.url+s.path(path), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Error(err)
		return
	}
	resp.Body.Close()
}

// probe waits until the answer to a dry run contains a text. The dry run creates a ConfigMap with a value of the label
// probe.
func (s *session) probe(label, text string) {
	s.t.Helper()
	s.know("~/configmaps", fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe","labels":{"probe":%q}}}`, label), text)
}

// know waits until the answer to a dry run of a create contains a text: the real server reads configurations late.
func (s *session) know(path, body, text string) {
	s.t.Helper()
	var answer []byte
	if !s.looks(func() bool {
		_, _, answer = s.send("POST", s.path(path)+"?dryRun=All", strings.ReplaceAll(body, "NS", s.ns))
		return strings.Contains(string(answer), s.path(text))
	}) {
		s.t.Fatalf("the answer of %s never has %s: %s", s.url, text, answer)
	}
}
