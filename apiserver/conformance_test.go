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
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() { // examples cannot skip
		fmt.Println("left out by -short: all tests of package apiserver need the rules of Kubernetes")
		os.Exit(0)
	}
	// Cases wait for servers more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	leaktest.Main(apiserver.Wrap(planetest.Wrap(m)))
}

// Each case runs against the API server in memory and against a real one. Their answers are equal.
func TestConformance(t *testing.T) {
	if v := os.Getenv(plane.KubernetesEnv); v != "" {
		t.Skipf("the rules are those of the module's Kubernetes, the real server is %s", v)
	}
	t.Parallel() // it mostly waits for the real server
	alone := slices.Concat(documentCases, aloneCases, addressCases, compactionCases, peerCases, webhookCases, warningCases, redirectCases, conversionCases, policyCases, equivalentCases, shadowCases, defaultCases, largeReviewCases)
	together := slices.Concat(flows, serverCases, formCases, boundPodCases, freedNameCases, customCases, kindCases(), readCases(), edgeCases(), oddCases(), structureCases(), noShardCases, givenTimeCases, largeCases)
	for _, group := range []struct {
		name    string
		compare func(*testing.T, pair)
	}{
		{"alone", func(t *testing.T, p pair) {
			p.keepParameters(t)
			p.compareEach(t, alone)
		}},
		{"together", func(t *testing.T, p pair) { p.compareTogether(t, together) }},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel() // each has servers of its own
			real := planetest.Private(t, plane.Options{Bare: true, Progress: os.Stderr})
			group.compare(t, newPair(t, real, apiserver.Start(t, apiserver.Options{History: time.Hour}))) // on a busy machine the cases take longer than the five minutes
		})
	}
}

// aloneCases read or change objects that all cases share. They do not run at the same time as others.
var aloneCases []conformanceCase

// server is a server on which cases run.
type server interface {
	URL() string
	RESTConfig() *rest.Config
	UserConfig(user string, groups ...string) (*rest.Config, error)
}

// repeats is how often a case that differs is run again, in another namespace. The real server reads caches that may be
// late, most of all on a busy machine. The server in memory has none, so a defect differs each time.
const repeats = 2

// apart is added to the number of a case for each repetition.
const apart = 3000

// pair is a real server and one in memory.
type pair struct {
	servers [2]server
	clients [2]*http.Client
	answers *atomic.Int64
}

func newPair(t *testing.T, real, memory server) pair {
	return pair{[2]server{real, memory}, [2]*http.Client{httpClient(t, real.RESTConfig()), httpClient(t, memory.RESTConfig())}, new(atomic.Int64)}
}

// session begins a conversation with the real server, 0, or that in memory, 1, in a new namespace.
func (p pair) session(t *testing.T, i int, ns string) *session {
	t.Helper()
	s := &session{t: t, client: p.clients[i], on: p.servers[i], url: p.servers[i].URL(), real: i == 0, ns: ns, again: soon, names: map[string]string{}}
	s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+s.ns+`"}}`)
	return s
}

// talk has a conversation with both servers, and returns how their answers differ. No other has the number n. patience
// is that of the session.
func (p pair) talk(t *testing.T, n, patience int, c conformanceCase) (differ []string) {
	t.Helper()
	var out [2][]string
	for i := range p.servers {
		s := p.session(t, i, fmt.Sprintf("c-%d", n))
		s.patience = patience
		c.run(s)
		out[i] = s.out
	}
	want, got := out[0], out[1]
	p.answers.Add(int64(len(want)))
	if len(want) == 0 {
		t.Error("the case asks nothing")
	}
	if len(want) != len(got) {
		differ = append(differ, fmt.Sprintf("got %d answers, want %d", len(got), len(want)))
	}
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			head, _, _ := strings.Cut(want[i], "\n")
			d := cmp.Diff(strings.Split(want[i], "\n"), strings.Split(got[i], "\n"))
			differ = append(differ, fmt.Sprintf("answer %d: %s (-real +memory):\n%s", i, head, d))
		}
	}
	return differ
}

// compare fails the test if the servers differ each time.
func (p pair) compare(t *testing.T, n int, c conformanceCase) {
	t.Helper()
	differ := p.talk(t, n, 1, c)
	for again := 1; len(differ) > 0 && again <= repeats; again++ {
		t.Logf("once more, since they differ:\n%s", strings.Join(differ, "\n"))
		differ = p.talk(t, n+again*apart, 4*again, c)
	}
	for _, d := range differ {
		t.Error(d)
	}
}

// compareEach runs one case after the other.
func (p pair) compareEach(t *testing.T, cases []conformanceCase) {
	for n, c := range cases {
		t.Run(c.name, func(t *testing.T) { p.compare(t, n, c) })
	}
	t.Logf("%d cases, %d answers", len(cases), p.answers.Load())
}

// compareTogether runs several cases at a time.
func (p pair) compareTogether(t *testing.T, cases []conformanceCase) {
	for n, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p.compare(t, n, c)
		})
	}
	t.Cleanup(func() { t.Logf("%d cases, %d answers", len(cases), p.answers.Load()) })
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
