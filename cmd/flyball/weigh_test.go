package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
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
	err = f.run(ctx, &out, &errOut)
	(<-accepted).Close()
	if err == nil || err.Error() != "interrupted: there are no figures" || out.Len() > 0 {
		t.Errorf("%v, on standard output %q", err, &out)
	}
}

// On a terminal the line is replaced, and messages do not end up in it. Elsewhere lines are rare.
func TestProgressLine(t *testing.T) {
	var out bytes.Buffer
	p := &progressLine{out: &out, terminal: true}
	p.show("weighing pods")
	p.show("weighing nodes") // too soon
	p.end()
	fmt.Fprintln(&out, "secrets is not weighed")
	p.end()
	if got, want := out.String(), "weighing pods\r\x1b[Ksecrets is not weighed\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	line := newProgressLine(&out)
	line.show("weighing pods")
	if out.Len() > 0 {
		t.Errorf("at once: %q", &out)
	}
	line.last = line.last.Add(-eachElsewhere)
	line.show("weighing nodes")
	line.end()
	if got, want := out.String(), "weighing nodes\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
