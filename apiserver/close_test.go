package apiserver_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/tier"
)

// A server closes soon, and without an error, although clients do not do their part: they never end a header or a body,
// or never read a list or a watch.
func TestCloseWithClientsThatHang(t *testing.T) {
	filled := apiserver.Start(t, apiserver.Options{InMemory: true})
	for i := range 12 { // more than the buffers of a connection
		putLarge(t, filled, fmt.Sprint("large-", i))
	}
	large := filled.Snapshot()
	for name, request := range map[string]string{
		"header": "GET " + mapsPath + " HTTP/1.1\r\nHost: a\r\n",
		"body":   "POST " + mapsPath + " HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
		"list":   "GET " + mapsPath + " HTTP/1.1\r\nHost: a\r\n\r\n",
		"watch":  "GET " + mapsPath + "?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n",
		"old":    "GET " + mapsPath + "?watch=1 HTTP/1.0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUnbound(t, apiserver.Options{})
			s.Restore(large)
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			if name != "header" {
				if _, err := bufio.NewReader(conn).Peek(12); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if d := time.Since(began); tier.InAudit() && d > 7*time.Second {
				t.Errorf("Close took %v", d)
			}
		})
	}
	for _, tls := range []bool{false, true} {
		t.Run(fmt.Sprintf("in memory, TLS %v", tls), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newUnbound(t, apiserver.Options{InMemory: true, TLS: tls})
				client, err := rest.HTTPClientFor(s.RESTConfig())
				if err != nil {
					t.Fatal(err)
				}
				defer client.CloseIdleConnections()
				for _, query := range []string{"?watch=1", ""} {
					resp, err := client.Get(s.URL() + mapsPath + query)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
				}
				putLarge(t, s, "a")
				putLarge(t, s, "b")
				began := time.Now()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if d := time.Since(began); d > 2*time.Second {
					t.Errorf("Close took %v", d)
				}
			})
		})
	}
}

// newUnbound starts a server that the test closes.
func newUnbound(t *testing.T, o apiserver.Options) *apiserver.Server {
	t.Helper()
	s, err := apiserver.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// putLarge creates a ConfigMap of almost a megabyte.
func putLarge(t *testing.T, s *apiserver.Server, name string) {
	t.Helper()
	client, err := rest.HTTPClientFor(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	resp, err := client.Post(s.URL()+mapsPath, jsonType, strings.NewReader(fmt.Sprintf(`{"metadata":{"name":%q},"data":{"k":%q}}`, name, strings.Repeat("x", 900_000))))
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
}
