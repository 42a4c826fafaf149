package operatortest

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/ops/rbac"
)

// foreign prepares what Run gets.
func (op *Operator) foreign(t testing.TB) error {
	op.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{next, op.record.Hook} })
	if len(op.callers) == 0 {
		return nil
	}
	at, err := op.certify(t.TempDir())
	op.WebhookHost, op.WebhookPort = at.IP.String(), at.Port
	op.callers = manifest.ByURL(op.callers, "https://"+at.String())
	return err
}

// certify writes the certificate of httptest into CertDir, as cert-manager does into a Secret, and its
// CA into the objects that make the API server call the operator. It returns an unused address.
func (op *Operator) certify(dir string) (*net.TCPAddr, error) {
	s := httptest.NewTLSServer(nil)
	s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	for _, o := range op.callers {
		manifest.EachHook(o, func(hook map[string]any) {
			err = errors.Join(err, unstructured.SetNestedField(hook, base64.StdEncoding.EncodeToString(ca), "clientConfig", "caBundle"))
		})
	}
	op.CertDir = dir
	return s.Listener.Addr().(*net.TCPAddr), errors.Join(err, os.WriteFile(filepath.Join(dir, "tls.crt"), ca, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
}

// listening returns when the webhooks of Run listen.
func (op *Operator) listening(ctx context.Context) error {
	if op.WebhookPort == 0 {
		return nil
	}
	return until(ctx, func() error {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", (&net.TCPAddr{IP: net.ParseIP(op.WebhookHost), Port: op.WebhookPort}).String())
		if err == nil {
			err = c.Close()
		}
		return err
	})
}

// Record records the requests of clients with this configuration, as [rbac.RecordTest] does. Call it
// before they are made.
func Record(t testing.TB, cfg *rest.Config) {
	var o client.Options
	rbac.RecordTest(t, &o)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{next, o.Hook} })
}

// recorder is a transport that calls a hook with each request for a resource.
type recorder struct {
	next http.RoundTripper
	hook func(client.Done)
}

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if d := (client.Done{Call: callOf(req), Err: err}); d.Resource.Resource != "" {
		if resp != nil {
			d.Code = resp.StatusCode
		}
		r.hook(d)
	}
	return resp, err
}

// callOf returns what a request asks for. It has no resource if that is something else.
func callOf(req *http.Request) (c client.Call) {
	_, rest, ok := strings.Cut(req.URL.Path, "/apis/")
	if !ok {
		_, rest, ok = strings.Cut(req.URL.Path, "/api/")
		rest = "/" + rest // the core group has no name
	}
	p := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	if !ok || len(p) < 3 {
		return c
	}
	c.Resource.Group, c.Resource.Version, p = p[0], p[1], p[2:]
	if len(p) > 2 && p[0] == "namespaces" && !slices.Contains([]string{"status", "finalize"}, p[2]) {
		p = p[2:]
	}
	c.Resource.Resource = p[0]
	if len(p) > 2 {
		c.Subresource = p[2]
	}
	q := req.URL.Query()
	c.Initial = q.Get("sendInitialEvents") == "true"
	c.Verb = map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[req.Method]
	switch {
	case req.Method == "GET" && q.Get("watch") != "" && q.Get("watch") != "false" && q.Get("watch") != "0":
		c.Verb = "watch"
	case req.Method == "GET" && len(p) == 1:
		c.Verb = "list"
	case req.Method == "DELETE" && len(p) == 1:
		c.Verb = "deletecollection"
	case req.Method == "PATCH" && strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch"):
		c.Verb = "apply"
	}
	return c
}
