package faults_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/tier"
)

const twoContexts = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: one, context: {cluster: c}}, {name: two, context: {cluster: c}}]
current-context: one
`

// A program that cannot work returns an error at once. The error names the cause, and nothing is
// started.
func TestFault33BadStart(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "kubeconfig")
		must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	quiet := func(s *httptest.Server) *httptest.Server {
		s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
		t.Cleanup(s.Close)
		return s
	}
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") })
	secure := quiet(httptest.NewUnstartedServer(answer))
	secure.StartTLS()
	plain := quiet(httptest.NewUnstartedServer(answer))
	plain.Start()
	page := quiet(httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, "<html>sign in</html>")
	})))
	page.Start()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})

	for _, tc := range []struct {
		name string
		o    flyball.Options
		is   func(error) bool
		says []string
	}{
		{"no configuration", flyball.Options{}, is[*client.ConfigError], []string{"KUBECONFIG"}},
		{"missing file", flyball.Options{Kubeconfig: "/nonexistent/config"}, is[*client.ConfigError], []string{"/nonexistent/config"}},
		{"empty file", flyball.Options{Kubeconfig: file("")}, is[*client.ConfigError], []string{"empty"}},
		{"not YAML", flyball.Options{Kubeconfig: file("\x00\xff{")}, is[*client.ConfigError], []string{"kubeconfig"}},
		{"wrong context", flyball.Options{Kubeconfig: file(twoContexts), Context: "three"}, is[*client.ConfigError], []string{`"three"`, "one", "two"}},
		{"certificate for another name", flyball.Options{Config: &rest.Config{
			Host: secure.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca, ServerName: "elsewhere.test"},
		}}, is[*client.ConfigError], []string{"elsewhere.test", secure.URL}},
		{"certificate of an unknown authority", flyball.Options{Config: &rest.Config{Host: secure.URL}}, is[*client.ConfigError], []string{"authority", secure.URL}},
		{"HTTPS to a port for HTTP", flyball.Options{Config: &rest.Config{Host: "https://" + plain.Listener.Addr().String()}}, is[*client.ConfigError], []string{"TLS"}},
		{"HTTP to a port for HTTPS", flyball.Options{Config: &rest.Config{Host: "http://" + secure.Listener.Addr().String()}}, is[*client.ConfigError], []string{"TLS"}},
		{"nobody there", flyball.Options{Config: &rest.Config{Host: "https://127.0.0.1:1"}}, is[*client.UnavailableError], []string{"refused"}},
		{"a page to sign in", flyball.Options{Config: &rest.Config{Host: page.URL}}, is[*client.UnauthorizedError], []string{"401"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Logger = slog.New(slog.DiscardHandler)
			ctx, cancel := context.WithTimeout(t.Context(), hung)
			defer cancel()
			began := false
			m, err := flyball.New(tc.o)
			if err == nil {
				_, err = m.Add(flyball.Lead, "work", func(context.Context) error { began = true; return nil })
				must(t, err)
				err = m.Run(ctx)
			}
			if err == nil || !tc.is(err) || began || ctx.Err() != nil {
				t.Fatalf("%T %v, started %v", err, err, began)
			}
			for _, word := range tc.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not name %q", err, word)
				}
			}
		})
	}

	t.Run("exit code", func(t *testing.T) {
		tier.NotShort(t, "starts a process")
		exe, err := os.Executable()
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), hung)
		defer cancel()
		cmd := exec.CommandContext(ctx, exe)
		cmd.Env = append(os.Environ(), roleEnv+"=mirror", configEnv+"="+file(""))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		exit, ok := errors.AsType[*exec.ExitError](cmd.Run())
		if !ok || exit.ExitCode() != 1 || !strings.Contains(stderr.String(), "empty") {
			t.Errorf("%v: %s", exit, stderr.String())
		}
	})
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
