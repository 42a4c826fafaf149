package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/lab/bench/measure"
	_ "github.com/flyball-io/flyball/lab/bench/programs"
	"github.com/flyball-io/flyball/lab/bench/replay"
	"github.com/flyball-io/flyball/test/planetest"
)

func TestMain(m *testing.M) { planetest.Main(m) }

// A real cluster is recorded, page by page and without its secrets, and replayed to all contenders. The server in
// memory would not do: it has no APIServices.
func TestRecord(t *testing.T) {
	p := planetest.Shared(t)
	ns := planetest.Namespace(t, p)
	cfg := p.RESTConfig()
	cfg.QPS = -1
	c := kubernetes.NewForConfigOrDie(cfg)
	const maps = pageSize + 20
	for i := range maps {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("map-%d", i), Labels: map[string]string{"app.kubernetes.io/name": "app"}}, Data: map[string]string{"number": fmt.Sprint(i)}}
		if _, err := c.CoreV1().ConfigMaps(ns).Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "secret", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "opensesame"}},
		Data:       map[string][]byte{"password": []byte("opensesame")},
	}
	if _, err := c.CoreV1().Secrets(ns).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "recording")
	var log bytes.Buffer
	if err := run(t.Context(), []string{"--kubeconfig", p.KubeconfigPath(), "-o", file}, &log); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, kind := range []string{"nodes", "namespaces", "roles.rbac.authorization.k8s.io", "apiservices.apiregistration.k8s.io"} {
		if r, err := corpus.Load(file, kind); err != nil || r.Len() == 0 {
			t.Errorf("%s: %v\n%s", kind, err, &log)
		}
	}
	secrets, err := corpus.Load(file, "secrets")
	if err != nil {
		t.Fatal(err)
	}
	blank := false
	for i := range secrets.Len() {
		s := secrets.At(i).(*corev1.Secret)
		raw, _ := json.Marshal(s)
		if strings.Contains(string(raw), "opensesame") {
			t.Errorf("%s", raw)
		}
		blank = blank || s.Name == "secret" && len(s.Data["password"]) > 0
	}
	if !blank {
		t.Error("the Secret is not there")
	}
	recorded, err := corpus.Load(file, "configmaps")
	if err != nil || recorded.Len() < maps {
		t.Fatalf("%d configmaps, %v", recorded.Len(), err)
	}
	setup := measure.Defaults()
	setup.Recorded, setup.Events, setup.Paced, setup.Reading, setup.Tapes = recorded, 300, 50, 1, t.TempDir()
	setup.Cases = []string{"hold", "updates", "paced", "reads", "relist"}
	setup.Contenders = []string{"flyball", "client-go", "controller-runtime"}
	setup.Lists = replay.Paged
	programs, err := measure.Build(t.Context(), setup.Contenders, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer programs.Remove()
	r, err := measure.Run(t.Context(), programs, setup)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Case("time until synced"); c.Flyball == nil || *c.RatioClientGo <= 0 || r.Objects != recorded.Len() {
		t.Errorf("%d objects: %+v", r.Objects, c)
	}
}

// An invalid command is reported, and leaves no file.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	unreachable := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(unreachable, []byte("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"-o":           {"--kubeconfig", unreachable},
		"no arguments": {"-o", none, "now"},
		"kubeconfig: ": {"-o", none, "--kubeconfig", none},
		"which kinds":  {"-o", none, "--kubeconfig", unreachable},
	} {
		var log bytes.Buffer
		if err := run(t.Context(), args, &log); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want something about %s", args, err, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*record*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a file was written")
	}
}
