package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flyball-io/flyball/cmd/flyball/internal/weigh"
)

// Ctrl-C ends a weighing at once, also while a server does not answer, and says so.
func TestWeighInterrupted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, interrupt := context.WithCancelCause(t.Context())
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			interrupt(errors.New("interrupt signal received"))
			accepted <- c
		}
	}()
	f := weighFlags{output: "text"}
	f.where.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"http://%s\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", l.Addr())
	if err := os.WriteFile(f.where.Kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	err = f.run(ctx, strings.NewReader(""), &out, &errOut)
	(<-accepted).Close()
	if err == nil || err.Error() != "interrupted before anything was weighed" || out.Len() > 0 {
		t.Errorf("%v, on standard output %q", err, &out)
	}
}

// A server that takes the credentials no more ends the weighing with an error, after the figures that there are.
func TestWeighTellsWhatItHas(t *testing.T) {
	answers := map[string]string{
		"/version":           `{"major": "1", "minor": "37"}`,
		"/api":               `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis":              `{"kind": "APIGroupList", "groups": []}`,
		"/api/v1":            `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "namespaces", "kind": "Namespace", "verbs": ["list", "watch"]}, {"name": "nodes", "kind": "Node", "verbs": ["list", "watch"]}]}`,
		"/api/v1/namespaces": `{"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": [{"metadata": {"name": "default", "uid": "u"}}]}`,
		"/api/v1/nodes":      "",
	}
	var expired atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := answers[r.URL.Path]
		if text == "" {
			expired.Store(true)
		}
		if expired.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			text = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "message": "Unauthorized", "code": 401}`
		}
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for output, want := range map[string]string{"text": "not weighed: nodes\n", "json": `"leftOut": [`} {
		expired.Store(false)
		f := weighFlags{output: output}
		f.where.Kubeconfig = kubeconfig
		var out, errOut bytes.Buffer
		err := f.run(t.Context(), strings.NewReader(""), &out, &errOut)
		if err == nil || !strings.HasPrefix(err.Error(), "not all was weighed: nodes: the server does not take the credentials: ") {
			t.Errorf("%s: %v", output, err)
		}
		if !strings.Contains(out.String(), "namespaces") || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", output, &out)
		}
	}
}

// On a terminal the line is replaced, and messages do not end up in it. Elsewhere lines are rare.
func TestWeighProgress(t *testing.T) {
	var out bytes.Buffer
	p := &weighProgress{progressLine: progressLine{out: &out, terminal: true}}
	now := weigh.Progress{Kind: "pods", Number: 1, Of: 2}
	p.step(now)
	p.step(now) // too soon
	p.problem(errors.New("secrets is not weighed"))
	p.end()
	if got, want := out.String(), "weighing pods, 1 of 2 kinds\r\x1b[Ksecrets is not weighed\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := p.interrupted().Error(); got != "interrupted while weighing pods: there are no figures" {
		t.Error(got)
	}
	out.Reset()
	p = newProgress(&out)
	p.step(now)
	if out.Len() > 0 {
		t.Errorf("at once: %q", &out)
	}
	now.Wait = eachElsewhere
	p.step(now) // nobody waits long without knowing why
	if got, want := out.String(), "weighing pods, 1 of 2 kinds; the server is busy and asks to wait 10s\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	now.Wait = 0
	p.last = p.last.Add(-eachElsewhere)
	p.step(now)
	p.end()
	if got, want := out.String(), "weighing pods, 1 of 2 kinds\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
