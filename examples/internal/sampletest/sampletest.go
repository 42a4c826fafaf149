// Package sampletest runs a sample as users do: its program, and its manifests.
//
//	func TestMain(m *testing.M) { sampletest.Main(m, main) }
//
//	cmd := sampletest.Command(t, "--namespace", "default")  // this very program, as the sample
package sampletest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/servertest"
)

const asSample = "FLYBALL_SAMPLE"

// stopping ends a program that hangs. One that uses up its grace period ends before, with an error.
const stopping = 5 * time.Minute

// Main runs main in a process that Command started, else the tests.
func Main(m *testing.M, main func()) {
	if os.Getenv(asSample) != "" {
		main()
		os.Exit(0)
	}
	servertest.Main(m)
}

// Command is the sample with these arguments, in an environment without any configuration of a
// cluster. With -short it skips the test.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	tier.NotShort(t, "starts another process")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = []string{asSample + "=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	return cmd
}

// Refuses tests what every sample says of a command line that it cannot work with.
func Refuses(t *testing.T) {
	for _, tc := range []struct {
		name, args string
		code       int
		says       string
	}{
		{"no configuration", "", 1, "no cluster configuration: tried $KUBECONFIG, "},
		{"no such kubeconfig", "--kubeconfig=/no/such/file", 1, "configuration /no/such/file: "},
		{"no such flag", "--kubeconfigg=x", 2, "flag provided but not defined: -kubeconfigg"},
		{"an argument", "default", 2, `unexpected argument "default"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := Command(t, strings.Fields(tc.args)...)
			var out, errOut bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errOut
			err := cmd.Run()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != tc.code {
				t.Errorf("%v, want exit status %d", err, tc.code)
			}
			if !strings.Contains(errOut.String(), tc.says) || out.Len() > 0 {
				t.Errorf("stderr %q, want %q; stdout %q, want none", &errOut, tc.says, &out)
			}
		})
	}
}

// Stop tells a program to stop, and fails the test unless it then ends in good order.
func Stop(t testing.TB, cmd *exec.Cmd, sig syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(stopping, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("after %v: %v", sig, err)
	}
}

// Account applies a manifest in a namespace, in place of "default", and returns a client configuration
// for its service account.
func Account(t testing.TB, p *servertest.Server, manifest, namespace, name string) *rest.Config {
	t.Helper()
	create(t, p, manifest, namespace)
	config, err := p.UserConfig("system:serviceaccount:"+namespace+":"+name, "system:serviceaccounts")
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// Kubeconfig is [Account] as the name of a kubeconfig.
func Kubeconfig(t testing.TB, p *servertest.Server, manifest, namespace, name string) string {
	t.Helper()
	create(t, p, manifest, namespace)
	text, err := p.UserKubeconfig("system:serviceaccount:"+namespace+":"+name, "system:serviceaccounts")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func create(t testing.TB, p *servertest.Server, manifest, namespace string) {
	t.Helper()
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	c := livetest.Client(t, p, client.Options{})
	docs := yaml.NewYAMLOrJSONDecoder(strings.NewReader(strings.ReplaceAll(string(text), "namespace: default", "namespace: "+namespace)), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := docs.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Apply(t.Context(), c, obj, "test"); err != nil {
			t.Fatal(err)
		}
	}
}

// Problems collects what a server refuses.
type Problems struct {
	mu   sync.Mutex
	seen []error
}

// Hook is for [client.Options].
func (p *Problems) Hook(d client.Done) {
	if _, ok := errors.AsType[*client.ForbiddenError](d.Err); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen = append(p.seen, d.Err)
	}
}

// Check fails the test if anything was refused for want of rights.
func (p *Problems) Check(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, err := range p.seen {
		t.Error(err)
	}
}
