// Package servertest provides an API server to tests: one in memory or, if the environment variable FLYBALL_REAL is
// set, a real control plane. The same tests run on both:
//
//	func TestMain(m *testing.M) { servertest.Main(m) }
//
//	func TestCreate(t *testing.T) {
//		s := servertest.Shared(t)           // one for the test binary
//		ns := servertest.Namespace(t, s)    // one for this test
//		…
//	}
//
// The server in memory has users, roles and controllers, as the real one does. It starts in milliseconds, once the
// rules of Kubernetes are built. DIFFERENCES.md of package apiserver lists where the two differ. A test that stops the
// server, or depends on such a difference, is for package planetest.
package servertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

// Real reports whether tests run on a real control plane. That is so if FLYBALL_REAL is set, but not to "0", and also if
// FLYBALL_KUBERNETES names a version of Kubernetes: the server in memory has only one version.
func Real() bool {
	v := os.Getenv(livetest.RealEnv)
	return v != "" && v != "0" || os.Getenv(plane.KubernetesEnv) != ""
}

// Server is the API server of the tests. It is safe for concurrent use.
type Server struct {
	// Plane is the real control plane; nil if the server is in memory.
	Plane *plane.Plane
	// Memory is the server in memory; nil if it is real.
	Memory *apiserver.Server

	folder string // has the kubeconfig of the server in memory
}

// RESTConfig returns an administrator's client configuration without a client-side rate limit. The caller owns it.
func (s *Server) RESTConfig() *rest.Config {
	if s.Plane != nil {
		return s.Plane.RESTConfig()
	}
	return s.Memory.RESTConfig()
}

// UserConfig returns the client configuration of a user with these groups. The user has only the permissions that roles
// grant, which at first is little more than discovery. The caller owns the configuration.
func (s *Server) UserConfig(user string, groups ...string) (*rest.Config, error) {
	if s.Plane != nil {
		return s.Plane.UserConfig(user, groups...)
	}
	return s.Memory.UserConfig(user, groups...)
}

// UserKubeconfig returns a kubeconfig of a user, as text for a file. See [Server.UserConfig].
func (s *Server) UserKubeconfig(user string, groups ...string) ([]byte, error) {
	if s.Plane != nil {
		return s.Plane.UserKubeconfig(user, groups...)
	}
	return s.Memory.UserKubeconfig(user, groups...)
}

// KubeconfigPath returns the file name of an administrator's kubeconfig. The file is removed with the server.
func (s *Server) KubeconfigPath() string {
	if s.Plane != nil {
		return s.Plane.KubeconfigPath()
	}
	return filepath.Join(s.folder, "kubeconfig")
}

// URL returns the server's address.
func (s *Server) URL() string {
	if s.Plane != nil {
		return s.Plane.URL()
	}
	return s.Memory.URL()
}

var shared struct {
	sync.Mutex
	memory *Server
	err    error
}

// Shared returns the server that all tests of this process share. The first call starts it. Tests must not close
// it. With -short it skips the test.
func Shared(t testing.TB) *Server {
	t.Helper()
	tier.NotShort(t, "starts an API server")
	if Real() {
		return &Server{Plane: planetest.Shared(t)}
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.memory == nil && shared.err == nil {
		shared.memory, shared.err = start(t)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.memory
}

// Private starts a server for this test alone. It is closed when the test and its subtests have ended. With -short it
// skips the test.
func Private(t testing.TB) *Server {
	t.Helper()
	tier.NotShort(t, "starts an API server")
	if Real() {
		return &Server{Plane: planetest.Private(t, plane.Options{})}
	}
	s, err := start(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start starts a server in memory. It outlives the test.
func start(t testing.TB) (*Server, error) {
	apiserver.Start(t, apiserver.Options{}) // so that the rules are built within the deadline of the test
	memory, err := apiserver.New(context.Background(), apiserver.Options{RBAC: true, Controllers: []string{"*"}, Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	s := &Server{Memory: memory}
	if s.folder, err = os.MkdirTemp("", "flyball-apiserver-"); err == nil {
		err = os.WriteFile(s.KubeconfigPath(), memory.Kubeconfig(), 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *Server) close() error { return errors.Join(s.Memory.Close(), os.RemoveAll(s.folder)) }

// Namespace creates a namespace named after this test, as [planetest.Namespace] does.
func Namespace(t testing.TB, s *Server) string {
	t.Helper()
	return planetest.Namespace(t, s)
}

// Main runs the tests, ends the shared server and exits.
func Main(m *testing.M) { os.Exit(Wrap(m).Run()) }

// Wrap returns a runner of tests, as [testing.M] is, that runs the tests of m and then ends the shared server. No
// goroutine of it is left when Run returns:
//
//	goleak.VerifyTestMain(servertest.Wrap(m))
func Wrap(m interface{ Run() int }) interface{ Run() int } {
	return apiserver.Wrap(planetest.Wrap(wrapped{m}))
}

type wrapped struct{ m interface{ Run() int } }

func (w wrapped) Run() int {
	defer func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.memory != nil {
			if err := shared.memory.close(); err != nil {
				os.Stderr.WriteString(err.Error() + "\n")
			}
		}
		shared.memory, shared.err = nil, nil
	}()
	return w.m.Run()
}
