package client

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: a
clusters:
- {name: one, cluster: {server: "https://one.test:6443"}}
- {name: two, cluster: {server: "https://two.test:6443"}}
- {name: nowhere, cluster: {}}
users:
- {name: me, user: {token: secret}}
contexts:
- {name: a, context: {cluster: one, user: me}}
- {name: b, context: {cluster: two, user: me}}
- {name: no-cluster, context: {cluster: three, user: me}}
- {name: no-user, context: {cluster: one, user: nobody}}
- {name: no-server, context: {cluster: nowhere, user: me}}
`

// alone hides the configuration of the machine from the test.
func alone(t *testing.T) (home string) {
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBERNETES_SERVICE_PORT", "")
	return home
}

func file(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigTakesTheFirstPlaceThatExists(t *testing.T) {
	home := alone(t)
	dir := t.TempDir()
	named := file(t, filepath.Join(dir, "named"), kubeconfig)
	other := file(t, filepath.Join(dir, "other"), strings.Replace(kubeconfig, "current-context: a", "current-context: b", 1))

	_, err := Config(ConfigOptions{})
	if e, ok := asType[*ConfigError](err); !ok || !errors.Is(err, rest.ErrNotInCluster) || strings.Count(e.Source, ",") != 2 {
		t.Fatalf("nowhere: %v", err)
	}
	check := func(what string, o ConfigOptions, host string) {
		t.Helper()
		cfg, err := Config(o)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if cfg.Host != host || cfg.BearerToken != "secret" {
			t.Errorf("%s: got %s", what, cfg.Host)
		}
	}
	file(t, filepath.Join(home, ".kube", "config"), kubeconfig)
	check("home", ConfigOptions{}, "https://one.test:6443")
	t.Setenv("KUBECONFIG", other)
	check("$KUBECONFIG goes before home", ConfigOptions{}, "https://two.test:6443")
	check("the named file goes first", ConfigOptions{Kubeconfig: named}, "https://one.test:6443")
	check("a context", ConfigOptions{Kubeconfig: named, Context: "b"}, "https://two.test:6443")
	t.Setenv("KUBECONFIG", filepath.Join(dir, "absent")+string(filepath.ListSeparator)+named)
	check("one of several files is absent", ConfigOptions{}, "https://one.test:6443")
}

func TestConfigErrorsNameTheSource(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	good := file(t, filepath.Join(dir, "good"), kubeconfig)
	for name, tt := range map[string]struct {
		o    ConfigOptions
		says string
	}{
		"absent":             {ConfigOptions{Kubeconfig: filepath.Join(dir, "absent")}, "no such file"},
		"empty":              {ConfigOptions{Kubeconfig: file(t, filepath.Join(dir, "empty"), "")}, "is empty"},
		"not YAML":           {ConfigOptions{Kubeconfig: file(t, filepath.Join(dir, "garbage"), "{{{")}, "garbage"},
		"wrong context":      {ConfigOptions{Kubeconfig: good, Context: "zzz"}, `no context "zzz"; its contexts are ["a" "b"`},
		"no current context": {ConfigOptions{Kubeconfig: file(t, filepath.Join(dir, "nocurrent"), strings.Replace(kubeconfig, "current-context: a", "", 1))}, "no current-context"},
		"absent cluster":     {ConfigOptions{Kubeconfig: good, Context: "no-cluster"}, `cluster "three"`},
		"absent user":        {ConfigOptions{Kubeconfig: good, Context: "no-user"}, `user "nobody"`},
		"no server":          {ConfigOptions{Kubeconfig: good, Context: "no-server"}, "has no server"},
		"a directory":        {ConfigOptions{Kubeconfig: dir}, dir},
	} {
		_, err := Config(tt.o)
		e, ok := asType[*ConfigError](err)
		if !ok || !strings.Contains(err.Error(), tt.says) || e.Source != tt.o.Kubeconfig {
			t.Errorf("%s: got %v", name, err)
		}
	}
	t.Setenv("KUBECONFIG", filepath.Join(dir, "absent"))
	if _, err := Config(ConfigOptions{}); !is[*ConfigError](err) {
		t.Errorf("$KUBECONFIG names an absent file: %v", err)
	}
	t.Setenv("KUBECONFIG", "")
	if _, err := Config(ConfigOptions{Context: "a"}); !is[*ConfigError](err) {
		t.Errorf("a context without a file: %v", err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "1")
	if _, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token"); err != nil {
		if e, ok := asType[*ConfigError](func() error { _, err := Config(ConfigOptions{}); return err }()); !ok || e.Source != "in-cluster" {
			t.Errorf("in a cluster without a token: %v", e)
		}
	}
}

func FuzzKubeconfig(f *testing.F) {
	for _, s := range []string{kubeconfig, "", "{}", "clusters: [{}]", "contexts: [{name: a}]\ncurrent-context: a"} {
		f.Add([]byte(s), "a")
	}
	f.Fuzz(func(t *testing.T, data []byte, context string) {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := Config(ConfigOptions{Kubeconfig: path, Context: context})
		if (cfg == nil) == (err == nil) || err != nil && !is[*ConfigError](err) {
			t.Fatalf("got %v and %v", cfg, err)
		}
	})
}
