package planetest_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

func TestMain(m *testing.M) {
	leaktest.Main(checked{planetest.Wrap(m)})
}

// usedDir is the data directory of the shared control plane.
var usedDir string

// checked adds a check that runs after the tests.
type checked struct{ goleak.TestingM }

func (c checked) Run() int {
	code := c.TestingM.Run()
	if _, err := os.Stat(usedDir); usedDir != "" && !os.IsNotExist(err) {
		fmt.Fprintln(os.Stderr, "the shared control plane's data are still there:", usedDir)
		return 1
	}
	return code
}

// All tests share one control plane. Each has its own namespace, in which Pods can be created at
// once.
func TestTestsShareOneControlPlane(t *testing.T) {
	livetest.NeedReal(t)
	var pids []int
	var names []string
	for _, name := range []string{"First", "second_with/a very long name that does not fit", "Größe", "--"} {
		t.Run(name, func(t *testing.T) {
			p := planetest.Shared(t)
			usedDir = p.DataDir()
			pids = append(pids, p.PID())
			ns := planetest.Namespace(t, p)
			if !strings.HasPrefix(ns, "testtestsshareonecontrolplane-") {
				t.Errorf("namespace %q does not tell the test", ns)
			}
			names = append(names, ns)
			post(t, p, "/api/v1/namespaces/"+ns+"/pods",
				`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
		})
	}
	if slices.Max(pids) != slices.Min(pids) {
		t.Errorf("not one process: %v", pids)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != 4 {
		t.Errorf("not one namespace for each test: %v", names)
	}
}

// A private control plane is gone when its test has ended.
func TestPrivateControlPlaneEndsWithItsTest(t *testing.T) {
	shared := planetest.Shared(t)
	var dir string
	t.Run("test", func(t *testing.T) {
		p := planetest.Private(t, plane.Options{Nodes: -1})
		dir = p.DataDir()
		if p.PID() == shared.PID() {
			t.Error("it is the shared one")
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("data directory: %v, want that it is gone", err)
	}
}

func post(t *testing.T, p *plane.Plane, path, body string) {
	t.Helper()
	tlsConfig, err := rest.TLSConfigFor(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Post(p.URL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("POST %s: %s: %s", path, resp.Status, text)
	}
}
