package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/plane"
)

// "go run" forwards no SIGTERM; nevertheless nothing may be left of its program.
func TestEndsWithGoRun(t *testing.T) {
	tier.Audit(t, "runs the go command")
	livetest.NeedReal(t)
	t.Parallel()
	binary, err := plane.Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	cmd := exec.Command("go", "run", noDebug, ".", "controlplane", "--nodes=0", "--kubeconfig-out="+filepath.Join(tmp, "kubeconfig"))
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, plane.BinaryEnv+"="+binary)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdout := bufio.NewReader(out)
	line, err := stdout.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready: https://127.0.0.1:") {
		t.Errorf("first line %q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	// The pipe ends when the last process that holds it has ended.
	if rest, err := io.ReadAll(stdout); err != nil || len(rest) > 0 {
		t.Errorf("more on standard output: %q, %v", rest, err)
	}
	_ = cmd.Wait() // killed by the signal
	left, err := filepath.Glob(filepath.Join(tmp, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if !strings.HasPrefix(filepath.Base(name), "go-build") { // the go command's own files, since it was killed
			t.Errorf("left behind: %s", name)
		}
	}
}
