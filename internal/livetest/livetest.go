// Package livetest connects tests to a control plane, defines kinds there, and leaves out tests that need a real one.
package livetest

import (
	"context"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/manifest"
)

// Server is an API server, such as a control plane or one in memory.
type Server interface {
	RESTConfig() *rest.Config
	URL() string
}

// Client returns an administrator's client. It is closed at the end of the test.
func Client(t testing.TB, p Server, o client.Options) *client.Live {
	t.Helper()
	c, err := client.New(p.RESTConfig(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Streams asks whether the server has streaming lists. They are off by default in some versions.
func Streams(t testing.TB, p Server) bool {
	t.Helper()
	config, err := rest.TLSConfigFor(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(p.URL() +
		"/api/v1/namespaces?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusUnprocessableEntity {
		t.Fatal("streaming list: ", resp.Status)
	}
	return resp.StatusCode == http.StatusOK
}

// Define applies a CRD and returns when all of its versions are served. The CRD is deleted at the end of the
// test, unless the test has deleted it.
func Define(t testing.TB, c *client.Live, crd *unstructured.Unstructured) {
	t.Helper()
	t.Cleanup(func() {
		if err := client.Delete(context.WithoutCancel(t.Context()), c, crd); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // only a server that hangs takes so long
	defer cancel()
	if err := manifest.Apply(ctx, c, "test", []manifest.Object{crd}, nil); err != nil {
		t.Fatal(err)
	}
}
