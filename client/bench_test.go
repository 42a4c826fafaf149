package client

import (
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/object"
)

// benchClient is a client on a fake that needs no test.
func benchClient(b *testing.B, route string, h http.HandlerFunc) *Live {
	f := newFake(nil)
	f.on(route, h)
	c, err := New(&rest.Config{Host: "http://fake.test", Transport: f}, Options{Scheme: testScheme})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkGet is one typed Get over the whole path except the network, the fake server's own
// work included.
func BenchmarkGet(b *testing.B) {
	c := benchClient(b, "GET "+podPath, reply(pod("x"), podGVK))
	for b.Loop() {
		if _, err := Get[corev1.Pod](b.Context(), c, key("x")); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList is a page of 500 Pods.
func BenchmarkList(b *testing.B) {
	var all []string
	for i := range 500 {
		all = append(all, fmt.Sprintf("pod-%03d", i))
	}
	c := benchClient(b, "GET /api/v1/pods", podList("5", "", all...))
	for b.Loop() {
		for _, err := range List[corev1.Pod](b.Context(), c) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkResolve measures the cost of the mapper for a request.
func BenchmarkResolve(b *testing.B) {
	c := benchClient(b, "", nil)
	for b.Loop() {
		if _, err := c.resolve(b.Context(), verbGet, podGVK, object.Key{Namespace: "web", Name: "x"}, "", false); err != nil {
			b.Fatal(err)
		}
	}
}
