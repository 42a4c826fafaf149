package flyball

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/flyball-io/flyball/cache"
)

// kubeconfigOf is a kubeconfig with one cluster, one user and one context.
func kubeconfigOf(server string) *clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: server}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "t"}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	return c
}

func writeKubeconfig(t *testing.T, file string, c *clientcmdapi.Config) {
	t.Helper()
	data, err := clientcmd.Write(*c)
	if err != nil {
		t.Fatal(err)
	}
	next := file + ".next" // the file is never half written
	if err := os.WriteFile(next, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
}

// Every field of a cluster and of a user that a program uses is told, each by its part, and nothing else is.
func TestEachFieldOfAKubeconfigIsTold(t *testing.T) {
	dir := t.TempDir()
	named := filepath.Join(dir, "named")
	if err := os.WriteFile(named, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	const authority, credentials = "certificate authority", "credentials"
	type want struct {
		value any
		part  string // empty: it is no difference
	}
	fields := map[string]want{
		"Cluster.Server": {"https://b.test", "server"}, "Cluster.TLSServerName": {"c.test", "server"},
		"Cluster.DisableCompression":    {true, "server"},
		"Cluster.InsecureSkipTLSVerify": {true, authority}, "Cluster.CertificateAuthority": {named, authority},
		"Cluster.CertificateAuthorityData": {[]byte("x"), authority}, "Cluster.ProxyURL": {"http://p.test", "proxy"},
		"Cluster.Extensions": {nil, ""}, "Cluster.LocationOfOrigin": {nil, ""},
		"AuthInfo.LocationOfOrigin": {nil, ""}, "AuthInfo.Extensions": {nil, ""},
		"AuthInfo.ClientCertificate": {named, credentials}, "AuthInfo.ClientCertificateData": {[]byte("x"), credentials},
		"AuthInfo.ClientKey": {named, credentials}, "AuthInfo.ClientKeyData": {[]byte("y"), credentials},
		"AuthInfo.Token": {"u", credentials}, "AuthInfo.TokenFile": {named, credentials},
		"AuthInfo.Impersonate": {"i", credentials}, "AuthInfo.ImpersonateUID": {"i", credentials},
		"AuthInfo.ImpersonateGroups":    {[]string{"g"}, credentials},
		"AuthInfo.ImpersonateUserExtra": {map[string][]string{"a": {"b"}}, credentials},
		"AuthInfo.Username":             {"n", credentials}, "AuthInfo.Password": {"p", credentials},
		"AuthInfo.AuthProvider": {&clientcmdapi.AuthProviderConfig{Name: "n"}, credentials},
		"AuthInfo.Exec":         {&clientcmdapi.ExecConfig{Command: "c", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}, credentials},
	}
	base := func() *clientcmdapi.Config {
		c := kubeconfigOf("https://a.test")
		u := c.AuthInfos["u"]
		u.Token = ""
		u.ClientCertificateData, u.ClientKeyData = []byte("c"), []byte("k")
		u.Impersonate = "someone"
		return c
	}
	file := filepath.Join(dir, "config")
	o := Options{Kubeconfig: file}
	read := func(c *clientcmdapi.Config) *rest.Config {
		t.Helper()
		writeKubeconfig(t, file, c)
		cfg, err := o.located()
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	was := read(base())
	for kind, of := range map[string]func(*clientcmdapi.Config) any{
		"Cluster":  func(c *clientcmdapi.Config) any { return c.Clusters["c"] },
		"AuthInfo": func(c *clientcmdapi.Config) any { return c.AuthInfos["u"] },
	} {
		typ := reflect.TypeOf(of(base())).Elem()
		for i := range typ.NumField() {
			name := kind + "." + typ.Field(i).Name
			w, known := fields[name]
			if !known {
				t.Errorf("%s is new: which part is it of?", name)
			}
			if w.value == nil {
				continue
			}
			c := base()
			switch name {
			case "AuthInfo.ClientCertificate":
				c.AuthInfos["u"].ClientCertificateData = nil
			case "AuthInfo.ClientKey":
				c.AuthInfos["u"].ClientKeyData = nil
			}
			if strings.Contains(name, "Token") || name == "AuthInfo.Username" || name == "AuthInfo.Password" || name == "AuthInfo.Exec" || name == "AuthInfo.AuthProvider" {
				c.AuthInfos["u"].ClientCertificateData, c.AuthInfos["u"].ClientKeyData = nil, nil
			}
			now := reflect.ValueOf(of(c)).Elem().Field(i)
			now.Set(reflect.ValueOf(w.value))
			if got := changedParts(was, read(c)); !reflect.DeepEqual(got, []string{w.part}) {
				t.Errorf("%s: %q, want %q", name, got, w.part)
			}
		}
	}
	other := base()
	other.Clusters["other"], other.AuthInfos["other"] = &clientcmdapi.Cluster{Server: "https://other.test"}, &clientcmdapi.AuthInfo{Token: "o"}
	other.Contexts["other"] = &clientcmdapi.Context{Cluster: "other", AuthInfo: "other"}
	if got := changedParts(was, read(other)); got != nil {
		t.Errorf("another context is added: %q", got)
	}
	other.CurrentContext = "other"
	if got := changedParts(was, read(other)); !reflect.DeepEqual(got, []string{credentials, "server"}) {
		t.Errorf("another context is the current one: %q", got)
	}
}

// logText is a log that is read while it is written.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), s)
}

// A kubeconfig that is rewritten is told once in the log, and in readiness where a check fails, until it is
// back. One that is broken changes nothing.
func TestKubeconfigThatChangesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		file := filepath.Join(t.TempDir(), "config")
		writeKubeconfig(t, file, kubeconfigOf(a.URL))
		var log logText
		std := http.DefaultTransport // that of clients without TLS
		http.DefaultTransport = &http.Transport{DialContext: a.pipes.dial}
		m, err := New(Options{Kubeconfig: file, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		http.DefaultTransport = std
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cache.Open[corev1.Pod](t.Context(), m.Cache()); err != nil {
			t.Fatal(err)
		}
		up(t, m)
		const told = "the kubeconfig has changed since this program read it"
		why := func() string {
			if err := m.Ready().Err(t.Context()); err != nil {
				return err.Error()
			}
			return ""
		}
		eventually(t, "ready", func() bool { return why() == "" })
		writeKubeconfig(t, file, kubeconfigOf("http://b.test"))
		eventually(t, "a log line", func() bool { return log.count(told) == 1 })
		if got := why(); got != "" {
			t.Errorf("not ready while the former configuration works: %s", got)
		}
		a.mu.Lock()
		a.down = true
		a.mu.Unlock()
		a.CloseClientConnections()
		eventually(t, "readiness says so", func() bool { return strings.Contains(why(), told+" (server)") })
		if err := os.WriteFile(file, []byte("{"), 0o600); err != nil { // as if it were half written
			t.Fatal(err)
		}
		if m.files.look(); !strings.Contains(why(), told) {
			t.Errorf("broken: %s", why())
		}
		writeKubeconfig(t, file, kubeconfigOf(a.URL))
		eventually(t, "it is back", func() bool { return log.count("is again as") == 1 })
		if got := why(); strings.Contains(got, told) {
			t.Errorf("back: %s", got)
		}
		if n := log.count("level=WARN msg=\"" + told); n != 1 {
			t.Errorf("%d lines", n)
		}
	})
}

// A file system that hangs holds up neither the stop nor a probe.
func TestKubeconfigThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		k := &kubeconfig{period: time.Minute, read: func() (*rest.Config, error) { <-hangs; return &rest.Config{}, nil }, used: &rest.Config{}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := k.run(ctx); err != nil || k.explain(nil) != nil {
			t.Error(err)
		}
		close(hangs)
	})
}
