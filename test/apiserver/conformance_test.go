package apiserver_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/test/apiserver"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(apiserver.Wrap(planetest.Wrap(m))) }

// Each case runs against the API server in memory and against a real one. What they answer is equal.
func TestConformance(t *testing.T) {
	if v := os.Getenv(plane.KubernetesEnv); v != "" {
		t.Skipf("the rules are those of the module's Kubernetes, the real server is %s", v)
	}
	real := planetest.Private(t, plane.Options{Bare: true, Progress: os.Stderr})
	memory := apiserver.Start(t, apiserver.Options{})
	compareAll(t, slices.Concat(flows, customCases, kindCases(), peerCases, webhookCases, conversionCases, policyCases, defaultCases), real, memory)
}

// server is a server that conversations are had with.
type server interface {
	URL() string
	RESTConfig() *rest.Config
	UserConfig(user string, groups ...string) (*rest.Config, error)
}

// compareAll runs each case against both servers.
func compareAll(t *testing.T, cases []conformanceCase, real, memory server) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := converse(t, real, c)
			got := converse(t, memory, c)
			if len(want) == 0 {
				t.Error("the case asks nothing")
			}
			for i := range max(len(want), len(got)) {
				if i >= len(want) || i >= len(got) {
					t.Fatalf("got %d answers, want %d", len(got), len(want))
				}
				if d := cmp.Diff(strings.Split(want[i], "\n"), strings.Split(got[i], "\n")); d != "" {
					t.Errorf("answer %d (-real +memory):\n%s", i, d)
				}
			}
		})
	}
}

// converse has a conversation with a server, and returns what that answers.
func converse(t *testing.T, on server, c conformanceCase) []string {
	t.Helper()
	s := &session{t: t, client: httpClient(t, on.RESTConfig()), on: on, url: on.URL(), ns: "case-" + strings.ReplaceAll(c.name, " ", "-"), names: map[string]string{}}
	s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+s.ns+`"}}`)
	c.run(s)
	return s.out
}

func httpClient(t *testing.T, config *rest.Config) *http.Client {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// conformanceCase is a conversation. In paths and bodies NS is the case's own namespace, and ~ its path.
type conformanceCase struct {
	name string
	run  func(*session)
}
