package apiserver_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/test/apiserver"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Cases wait for servers more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(apiserver.Wrap(planetest.Wrap(m)))
}

// Each case runs against the API server in memory and against a real one. What they answer is equal.
func TestConformance(t *testing.T) {
	if v := os.Getenv(plane.KubernetesEnv); v != "" {
		t.Skipf("the rules are those of the module's Kubernetes, the real server is %s", v)
	}
	real := planetest.Private(t, plane.Options{Bare: true, Progress: os.Stderr})
	memory := apiserver.Start(t, apiserver.Options{})
	alone := slices.Concat(aloneCases, peerCases, webhookCases, conversionCases, policyCases, defaultCases)
	together := slices.Concat(flows, customCases, kindCases(), readCases(), edgeCases(), oddCases(), structureCases())
	compareAll(t, alone, together, real, memory)
}

// aloneCases read or change what all cases have.
var aloneCases []conformanceCase

// server is a server that conversations are had with.
type server interface {
	URL() string
	RESTConfig() *rest.Config
	UserConfig(user string, groups ...string) (*rest.Config, error)
}

// repeats is how often a case that differs is run again, in another namespace. The real server reads caches that may be
// late, above all on a busy machine, and what it then answers is chance. This one has none: a defect differs each time.
const repeats = 2

// apart is how far the numbers of the same case are apart.
const apart = 3000

// compareAll runs each case against both servers: those alone first, each when no other one runs.
func compareAll(t *testing.T, alone, together []conformanceCase, real, memory server) {
	servers := [2]server{real, memory}
	clients := [2]*http.Client{httpClient(t, real.RESTConfig()), httpClient(t, memory.RESTConfig())}
	var answers atomic.Int64
	talk := func(t *testing.T, n int, c conformanceCase) (differ []string) {
		var out [2][]string
		for i, on := range servers {
			s := &session{t: t, client: clients[i], on: on, url: on.URL(), real: i == 0, ns: fmt.Sprintf("c-%d", n), names: map[string]string{}}
			s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+s.ns+`"}}`)
			c.run(s)
			out[i] = s.out
		}
		want, got := out[0], out[1]
		answers.Add(int64(len(want)))
		if len(want) == 0 {
			t.Error("the case asks nothing")
		}
		if len(want) != len(got) {
			differ = append(differ, fmt.Sprintf("got %d answers, want %d", len(got), len(want)))
		}
		for i := range min(len(want), len(got)) {
			if d := cmp.Diff(strings.Split(want[i], "\n"), strings.Split(got[i], "\n")); d != "" {
				head, _, _ := strings.Cut(want[i], "\n")
				differ = append(differ, fmt.Sprintf("answer %d: %s (-real +memory):\n%s", i, head, d))
			}
		}
		return differ
	}
	compare := func(t *testing.T, n int, c conformanceCase) {
		differ := talk(t, n, c)
		for again := 1; len(differ) > 0 && again <= repeats; again++ {
			t.Logf("once more, since they differ:\n%s", strings.Join(differ, "\n"))
			differ = talk(t, n+again*apart, c)
		}
		for _, d := range differ {
			t.Error(d)
		}
	}
	for n, c := range alone {
		t.Run(c.name, func(t *testing.T) { compare(t, n, c) })
	}
	t.Run("together", func(t *testing.T) {
		for n, c := range together {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				compare(t, len(alone)+n, c)
			})
		}
	})
	t.Logf("%d cases, %d answers", len(alone)+len(together), answers.Load())
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
