package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
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

// On a terminal the line is replaced, and messages do not end up in it. Elsewhere lines are rare.
func TestWeighProgress(t *testing.T) {
	var out bytes.Buffer
	p := &weighProgress{out: &out, terminal: true}
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
	p.last = p.last.Add(-eachElsewhere)
	p.step(now)
	p.end()
	if got, want := out.String(), "weighing pods, 1 of 2 kinds\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
