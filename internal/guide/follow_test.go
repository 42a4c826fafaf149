//go:build unix

package guide

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/servertest"
)

// bound ends what would never come. A program is built on the way.
const bound = 10 * time.Minute

// TestFirstController follows docs/first-controller.md from the first command to the last.
func TestFirstController(t *testing.T) {
	tier.Audit(t, "runs the go command")
	r := newReader(t)
	for _, b := range read(t, "first-controller.md") {
		r.follow(b)
	}
	if r.program != nil {
		t.Error("the guide does not end the program that it started")
	}
}

// reader follows a guide.
type reader struct {
	t    *testing.T
	home string
	env  []string
	said *string // by the commands of the last block; nil: it started the program
	// program goes on to run; nil: none does. The first lines of its output were compared already,
	// as many as seen says.
	program *exec.Cmd
	output  *output
	seen    int
}

// newReader is a reader in the checkout, with a home of its own.
func newReader(t *testing.T) *reader {
	tier.Audit(t, "runs the go command")
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH", "GOENV").Output()
	if err != nil {
		t.Fatal(err)
	}
	var goEnv map[string]string
	if err := json.Unmarshal(out, &goEnv); err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, home: t.TempDir()}
	r.env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "HOME" || name == "KUBECONFIG" || name == "GOWORK" || name == "PWD"
	})
	r.env = append(r.env, "HOME="+r.home)
	for name, value := range goEnv {
		r.env = append(r.env, name+"="+value)
	}
	r.write(".dir", root(t))
	r.write(".env", "")
	return r
}

func (r *reader) write(name, text string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Join(r.home, filepath.Dir(name)), 0o777); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.home, name), []byte(text), 0o666); err != nil {
		r.t.Fatal(err)
	}
}

// dir is where the commands have changed to.
func (r *reader) dir() string {
	r.t.Helper()
	dir, err := os.ReadFile(filepath.Join(r.home, ".dir"))
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSuffix(string(dir), "\n")
}

// command is a shell that goes on where the last one ended, with its variables.
func (r *reader) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", `. "$HOME/.env"`+"\n"+script)
	cmd.Dir, cmd.Env = r.dir(), r.env
	return cmd
}

func (r *reader) follow(b block) {
	r.t.Helper()
	switch b.mark {
	case "go file":
		file := filepath.Join(r.dir(), b.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(b.text), 0o666)); err != nil {
			r.t.Fatal(err)
		}
	case "sh run":
		r.run(b)
	case "sh controlplane":
		r.controlplane(b)
	case "sh background":
		r.start(b)
	case "text output":
		switch {
		case r.said == nil:
			r.await(b)
		case !same(b.text, *r.said):
			r.t.Errorf("line %d: the guide shows\n%swhere there is\n%s", b.line, b.text, *r.said)
		}
	case "text log":
		r.await(b)
	case "text interrupt":
		r.interrupt(b)
	}
}

// run runs commands that end.
func (r *reader) run(b block) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), bound)
	defer cancel()
	out, err := r.command(ctx, b.text+`export -p >"$HOME/.env"`+"\n"+`pwd >"$HOME/.dir"`).CombinedOutput()
	if err != nil {
		r.t.Fatalf("line %d: %v\n%s", b.line, err, out)
	}
	said := string(out)
	r.said = &said
}

var kubeconfigFlag = regexp.MustCompile(`--kubeconfig-out ~/(\S+)`)

// controlplane gives the reader that of the tests.
func (r *reader) controlplane(b block) {
	r.t.Helper()
	flag := kubeconfigFlag.FindStringSubmatch(b.text)
	if flag == nil {
		r.t.Fatalf("line %d: where does the kubeconfig go? No --kubeconfig-out in %s", b.line, b.text)
	}
	p := servertest.Shared(r.t)
	config, err := os.ReadFile(p.KubeconfigPath())
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(flag[1], string(config))
	said := "ready: " + p.URL() + "\n"
	r.said = &said
}

// start starts the program, one command, as a shell with job control does: Ctrl-C reaches all of its
// processes.
func (r *reader) start(b block) {
	r.t.Helper()
	if r.program != nil {
		r.t.Fatalf("line %d: a program runs already", b.line)
	}
	r.program = r.command(context.WithoutCancel(r.t.Context()), "exec "+b.text)
	r.said = nil
	r.output, r.seen = newOutput(), 0
	r.program.Stdout, r.program.Stderr = r.output, r.output
	r.program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.program.Start(); err != nil {
		r.t.Fatal(err)
	}
	cmd := r.program
	r.t.Cleanup(func() {
		if r.program == cmd {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
		}
	})
}

// await waits until the program has said what the guide shows.
func (r *reader) await(b block) {
	r.t.Helper()
	if r.output == nil {
		r.t.Fatalf("line %d: no program runs", b.line)
	}
	late := time.NewTimer(bound)
	defer late.Stop()
	for {
		text, changed := r.output.since(r.seen)
		if n, ok := after(b.text, text); ok {
			r.seen += n
			return
		}
		select {
		case <-changed:
		case <-late.C:
			r.t.Fatalf("line %d: the guide shows\n%swhere the program says\n%s", b.line, b.text, text)
		}
	}
}

// interrupt presses Ctrl-C.
func (r *reader) interrupt(b block) {
	r.t.Helper()
	if r.program == nil {
		r.t.Fatalf("line %d: no program runs", b.line)
	}
	if err := syscall.Kill(-r.program.Process.Pid, syscall.SIGINT); err != nil {
		r.t.Fatal(err)
	}
	r.await(b)
	kill := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-r.program.Process.Pid, syscall.SIGKILL) })
	err := r.program.Wait()
	kill.Stop()
	if err != nil {
		text, _ := r.output.since(0)
		r.t.Errorf("line %d: the program ends with %v\n%s", b.line, err, text)
	}
	r.program, r.output = nil, nil
}

// output keeps what a program says.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed with the next write
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(b)
}

// since is what was said after n lines, up to the last whole line, and a channel that is closed when
// there is more.
func (o *output) since(n int) (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := strings.SplitAfter(o.text.String(), "\n")
	all = all[:len(all)-1]
	return strings.Join(all[min(n, len(all)):], ""), o.changed
}
