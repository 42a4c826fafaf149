package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flyball-io/flyball/test/plane"
)

// program is a process started by "runs".
type program struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	said strings.Builder
}

// programKey is the key of a script's program.
type programKey struct{}

// runs TEXT COMMAND... runs a command in the background and returns when it has printed a line with
// the text.
func runs(ts *testscript.TestScript, neg bool, args []string) {
	name, err := exec.LookPath(args[1])
	ts.Check(err)
	p := ts.Value(programKey{}).(*program)
	*p = program{cmd: exec.Command(name, args[2:]...)}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = os.Environ()
	for _, k := range []string{"TMPDIR", "HOME", "KUBECONFIG", "GOWORK", "GOFLAGS", "GOCACHE", "GOMODCACHE", plane.BinaryEnv} {
		p.cmd.Env = append(p.cmd.Env, k+"="+ts.Getenv(k))
	}
	out, err := p.cmd.StdoutPipe()
	ts.Check(err)
	p.cmd.Stderr = p.cmd.Stdout
	ts.Check(p.cmd.Start())
	ts.Defer(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			_, _ = io.Copy(io.Discard, p.out)
			_ = p.cmd.Wait()
		}
	})
	p.out = bufio.NewReader(out)
	for {
		line, err := p.out.ReadString('\n')
		p.said.WriteString(line)
		if strings.Contains(line, args[0]) {
			return
		}
		if err != nil {
			ts.Fatalf("%v before it printed %q: %s", err, args[0], p.said.String())
		}
	}
}

// ends STATUS interrupts the program of "runs", waits until it has ended, and writes its output to
// the file "said".
func ends(ts *testscript.TestScript, neg bool, args []string) {
	p := ts.Value(programKey{}).(*program)
	ts.Check(p.cmd.Process.Signal(syscall.SIGINT))
	_, err := io.Copy(&p.said, p.out)
	ts.Check(err)
	_ = p.cmd.Wait()
	ts.Check(os.WriteFile(ts.MkAbs("said"), []byte(p.said.String()), 0o600))
	if got := p.cmd.ProcessState.String(); got != "exit status "+args[0] {
		ts.Fatalf("%s, want exit status %s: %s", got, args[0], p.said.String())
	}
}

// freeport NAME... sets variables to unused addresses of this machine.
func freeport(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		defer l.Close() // after the loop, so that no two are the same
		ts.Setenv(name, l.Addr().String())
	}
}

// fetch URL writes the answer of a server to the file "answer".
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	keep(ts, neg, &http.Client{Transport: transport}, args[0])
}

// keep writes the answer to the file "answer", or demands a 404.
func keep(ts *testscript.TestScript, neg bool, c *http.Client, url string) {
	resp, err := c.Get(url)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	want := http.StatusOK
	if neg {
		want = http.StatusNotFound
	}
	if resp.StatusCode != want {
		ts.Fatalf("GET %s: %s, want %d: %s", url, resp.Status, want, body)
	}
	ts.Check(os.WriteFile(ts.MkAbs("answer"), body, 0o600))
}
