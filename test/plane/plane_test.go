package plane_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/plane"
)

// The environment variable role makes the test binary run as another program.
const role = "FLYBALL_PLANE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "": // run the tests
	case "failing":
		fmt.Fprintln(os.Stderr, "the disk is on fire")
		os.Exit(3)
	case "tells its session":
		fmt.Fprintln(os.Stderr, sessionID())
		os.Exit(3)
	case "owner", "owner of a paused plane":
		os.Exit(ownPlane(os.Getenv(role) != "owner"))
	}
	leaktest.Main(m)
}

// ownPlane starts a control plane, prints its address and waits to be killed.
func ownPlane(pause bool) int {
	p, err := plane.Start(context.Background(), plane.Options{Progress: os.Stderr})
	if err == nil && pause {
		err = p.Pause()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(p.DataDir())
	<-p.Done()
	return 1
}

// One control plane goes through all operations. Each step builds on the previous one.
func TestOperationsOfOneControlPlane(t *testing.T) {
	livetest.NeedReal(t)
	p, err := plane.Start(t.Context(), plane.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(strings.Join(p.Log().Tail(0, 100), "\n"))
		}
	})
	c := newClient(t, p.RESTConfig())
	const maps = "/api/v1/namespaces/default/configmaps"
	address := p.URL()

	t.Run("runs Pods", func(t *testing.T) {
		const pods = "/api/v1/namespaces/default/pods"
		c.must(t, 201, "POST", pods, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
		c.await(t, pods+"?watch=1&fieldSelector=metadata.name%3Da", func(e event) bool {
			return bytes.Contains(e.Object.Status, []byte(`"phase":"Running"`))
		})
		version := c.must(t, 200, "DELETE", pods+"/a", "").Metadata.ResourceVersion
		c.await(t, pods+"?watch=1&fieldSelector=metadata.name%3Da&resourceVersion="+version, func(e event) bool {
			return e.Type == "DELETED"
		})
	})

	// What ends one Pod must not end the next one of the same name.
	t.Run("ends only the Pod that was deleted", func(t *testing.T) {
		const pods = "/api/v1/namespaces/default/pods"
		for round := range 60 {
			grace := round % 2 * 30
			made := c.must(t, 201, "POST", pods, fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"},
				"spec":{"nodeName":"node-0","terminationGracePeriodSeconds":%d,"containers":[{"name":"c","image":"i"}]}}`, grace)).Metadata
			from := pods + "?watch=1&fieldSelector=metadata.name%3Db&resourceVersion="
			c.await(t, from+made.ResourceVersion, func(e event) bool {
				if e.Type == "DELETED" {
					t.Fatalf("round %d: the Pod went, and nobody had deleted it", round)
				}
				return bytes.Contains(e.Object.Status, []byte(`"phase":"Running"`))
			})
			c.must(t, 200, "DELETE", pods+"/b", "")
			c.await(t, from+made.ResourceVersion, func(e event) bool { return e.Type == "DELETED" })
		}
	})

	t.Run("serves streaming lists", func(t *testing.T) {
		c.await(t, "/api/v1/nodes?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", func(e event) bool {
			return e.Type == "BOOKMARK" && e.Object.Metadata.Annotations["k8s.io/initial-events-end"] == "true"
		})
	})

	t.Run("restricts users", func(t *testing.T) {
		config, err := p.UserConfig("ann", "readers")
		if err != nil {
			t.Fatal(err)
		}
		ann := newClient(t, config)
		denied := ann.must(t, 403, "GET", maps, "")
		if !strings.Contains(denied.Message, `User "ann" cannot list`) {
			t.Errorf("refused with %q, which does not name the user", denied.Message)
		}
		c.must(t, 201, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"r"},
			"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},
			"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"readers"}]}`)
		text, err := p.UserKubeconfig("bob", "readers")
		if err != nil {
			t.Fatal(err)
		}
		config, err = clientcmd.RESTConfigFromKubeConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		// The binding takes effect when the API server has seen it.
		bob := newClient(t, config)
		for bob.code(t, "GET", maps) == 403 {
			if t.Context().Err() != nil {
				t.Fatal("the role binding never took effect")
			}
		}
	})

	t.Run("pauses", func(t *testing.T) {
		if err := p.Pause(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, _, err := c.do(ctx, "GET", "/readyz", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while paused: got error %v, want none but the request's timeout", err)
		}
		if err := p.Continue(); err != nil {
			t.Fatal(err)
		}
		c.must(t, 200, "GET", maps, "")
	})

	t.Run("survives a crash", func(t *testing.T) {
		c.must(t, 201, "POST", maps, configMap("before-crash"))
		ended := p.Done()
		p.Kill()
		<-ended
		if _, err := p.Compact(t.Context()); !errors.Is(err, plane.ErrNotRunning) {
			t.Errorf("Compact after Kill: %v, want ErrNotRunning", err)
		}
		if err := p.Pause(); !errors.Is(err, plane.ErrNotRunning) {
			t.Errorf("Pause after Kill: %v, want ErrNotRunning", err)
		}
		if _, _, err := c.do(t.Context(), "GET", "/readyz", ""); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("request after Kill: %v, want connection refused", err)
		}
		if err := p.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p.URL() != address {
			t.Errorf("address changed from %s to %s", address, p.URL())
		}
		c.must(t, 200, "GET", maps+"/before-crash", "")
	})

	t.Run("goes back", func(t *testing.T) {
		s, err := p.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		after := c.must(t, 201, "POST", maps, configMap("after-snapshot"))
		if err := p.Restore(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		c.must(t, 404, "GET", maps+"/after-snapshot", "")
		c.must(t, 200, "GET", maps+"/before-crash", "")
		// The server does not know a version that it has returned itself.
		if code, _, err := c.do(t.Context(), "GET", maps+"?resourceVersionMatch=Exact&limit=1&resourceVersion="+after.Metadata.ResourceVersion+"0", ""); err != nil || code == 200 {
			t.Errorf("a list at a version of the future: code %d, %v", code, err)
		}
	})

	t.Run("forgets", func(t *testing.T) {
		c.must(t, 201, "POST", maps, configMap("one"))
		page := c.must(t, 200, "GET", maps+"?limit=1", "")
		c.must(t, 201, "POST", maps, configMap("two"))
		revision, err := p.Compact(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if revision <= 1 {
			t.Errorf("compacted at revision %d", revision)
		}
		if err := p.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.must(t, 410, "GET", maps+"?limit=1&continue="+page.Metadata.Continue, "")
		c.await(t, maps+"?watch=1&resourceVersion="+page.Metadata.ResourceVersion, func(e event) bool {
			if e.Type != "ERROR" || e.Object.Code != 410 {
				t.Errorf("watch from before the compaction: %s %d, want ERROR 410", e.Type, e.Object.Code)
			}
			return true
		})
	})

	t.Run("leaves nothing", func(t *testing.T) {
		pid := p.PID()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("process %d after Close: %v, want that there is none", pid, err)
		}
		if _, err := os.Stat(p.DataDir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("temporary data directory after Close: %v", err)
		}
	})
}

func TestNamedDataDirIsKept(t *testing.T) {
	livetest.NeedReal(t)
	dir := t.TempDir()
	var kubeconfigs [2][]byte
	for i := range kubeconfigs {
		p, err := plane.Start(t.Context(), plane.Options{DataDir: dir, Nodes: -1, Progress: os.Stderr})
		if err != nil {
			t.Fatal(err)
		}
		c := newClient(t, p.RESTConfig())
		if nodes := c.must(t, 200, "GET", "/api/v1/nodes", ""); len(nodes.Items) > 0 {
			t.Errorf("%d nodes where none were wanted", len(nodes.Items))
		}
		if kubeconfigs[i], err = os.ReadFile(p.KubeconfigPath()); err != nil {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if !bytes.Equal(kubeconfigs[0], kubeconfigs[1]) {
		t.Error("the second run on the same data has another kubeconfig")
	}
}

func TestEarlyEndIsAnExitError(t *testing.T) {
	tier.NotShort(t, "starts a process")
	t.Setenv(role, "failing")
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	_, err := plane.Start(t.Context(), plane.Options{Binary: os.Args[0]})
	var exit *plane.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("got error %v, want an ExitError", err)
	}
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 3 {
		t.Errorf("got error %v, want exit status 3 in it", err)
	}
	if got := strings.Join(exit.Log, "\n"); got != "the disk is on fire" {
		t.Errorf("got log %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMissingBinaryIsNotExist(t *testing.T) {
	t.Setenv(plane.BinaryEnv, filepath.Join(t.TempDir(), "none"))
	if _, err := plane.Start(t.Context(), plane.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v, want ErrNotExist", err)
	}
}

// A parent that is killed cannot clean up, so the control plane has to end by itself.
func TestEndsWithItsParent(t *testing.T) {
	livetest.NeedReal(t)
	for _, as := range []string{"owner", "owner of a paused plane"} {
		t.Run(as, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), role+"="+as)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var dir string
			_, err = fmt.Fscanln(out, &dir)
			kill := cmd.Process.Kill()
			_ = cmd.Wait()
			if err != nil || kill != nil {
				t.Fatalf("data directory of the other process: %v; kill: %v", err, kill)
			}
			awaitLock(t, dir)
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("temporary data directory: %v, want that it is gone", err)
			}
		})
	}
}

// awaitLock returns when no process uses the data directory. Each process holds a lock on it for
// its whole life.
func awaitLock(t *testing.T, dir string) {
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

// object holds the fields of API answers that these tests read.
type object struct {
	Metadata struct {
		ResourceVersion, Continue string
		Annotations               map[string]string
	}
	Status  json.RawMessage // an object, but a string in a Status
	Items   []json.RawMessage
	Code    int
	Message string
}

type event struct {
	Type   string
	Object object
}

type client struct {
	http *http.Client
	url  string
}

func newClient(t *testing.T, config *rest.Config) *client {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{&http.Client{Transport: transport}, config.Host}
}

func (c *client) open(ctx context.Context, method, path, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return c.http.Do(req)
}

func (c *client) do(ctx context.Context, method, path, body string) (int, []byte, error) {
	resp, err := c.open(ctx, method, path, body)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, data, err
}

// must sends a request, and fails the test if the answer has another status code.
func (c *client) must(t *testing.T, code int, method, path, body string) object {
	t.Helper()
	got, data, err := c.do(t.Context(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if got != code {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, got, code, data)
	}
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, data)
	}
	return o
}

func (c *client) code(t *testing.T, method, path string) int {
	t.Helper()
	code, _, err := c.do(t.Context(), method, path, "")
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// await watches until an event satisfies done.
func (c *client) await(t *testing.T, path string, done func(event) bool) {
	t.Helper()
	resp, err := c.open(t.Context(), "GET", path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var e event
		if err := d.Decode(&e); err != nil {
			t.Fatalf("watch %s: %v", path, err)
		}
		if done(e) {
			return
		}
	}
}

func configMap(name string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"}}`
}
