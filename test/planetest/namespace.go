package planetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/test/plane"
	"k8s.io/client-go/rest"
)

// namespaceBound is the timeout for operations that take milliseconds.
const namespaceBound = 5 * time.Minute

// Namespace creates a namespace named after this test. It returns the name when Pods can be created
// in it. The namespace is deleted at the end of the test, without waiting for its objects.
func Namespace(t testing.TB, p *plane.Plane) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), namespaceBound)
	defer cancel()
	api, err := newAPI(p)
	if err != nil {
		t.Fatal(err)
	}
	name, err := api.createNamespace(ctx, t.Name())
	if err != nil {
		t.Fatalf("planetest: namespace: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has ended.
		ctx, cancel := context.WithTimeout(context.Background(), namespaceBound)
		defer cancel()
		err := api.do(ctx, http.MethodDelete, "/api/v1/namespaces/"+name, nil, nil)
		if err != nil {
			t.Logf("planetest: namespace %s stays: %v", name, err)
		}
		api.http.CloseIdleConnections()
	})
	if err := api.awaitAccount(ctx, name); err != nil {
		t.Fatalf("planetest: namespace %s: %v", name, err)
	}
	return name
}

// api is a minimal client of the Kubernetes API for namespaces.
type api struct {
	http *http.Client
	url  string
}

// newAPI returns a client with its own connections, which can be closed without affecting others.
func newAPI(p *plane.Plane) (*api, error) {
	config := p.RESTConfig()
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("planetest: %w", err)
	}
	return &api{
		http: &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig}},
		url:  p.URL(),
	}, nil
}

// createNamespace creates a namespace whose generated name begins with the test's name.
func (a *api) createNamespace(ctx context.Context, test string) (string, error) {
	type meta struct {
		Name         string `json:"name,omitempty"`
		GenerateName string `json:"generateName,omitempty"`
	}
	type namespace struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   meta   `json:"metadata"`
	}
	ns := namespace{"v1", "Namespace", meta{GenerateName: label(test) + "-"}}
	var created namespace
	err := a.do(ctx, http.MethodPost, "/api/v1/namespaces", ns, &created)
	return created.Metadata.Name, err
}

// awaitAccount returns when the namespace has its default service account. Admission rejects Pods
// without it.
func (a *api) awaitAccount(ctx context.Context, namespace string) error {
	var event struct {
		Type string `json:"type"`
	}
	path := "/api/v1/namespaces/" + namespace + "/serviceaccounts?watch=1&fieldSelector=metadata.name%3Ddefault"
	// Decoding reads only the first event of the stream.
	if err := a.do(ctx, http.MethodGet, path, nil, &event); err != nil {
		return err
	}
	if event.Type != "ADDED" {
		return fmt.Errorf("watch of its default service account: unexpected event %q", event.Type)
	}
	return nil
}

// do sends in, if not nil, and decodes the answer into out, if not nil.
func (a *api) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

// label returns a test's name as a prefix for a namespace: at most 40 of a-z, 0-9 and inner dashes.
func label(test string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, test)
	name = strings.Trim(name[:min(len(name), 40)], "-")
	if name == "" {
		return "test"
	}
	return name
}
