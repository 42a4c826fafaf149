package flyball

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/servertest"
)

// signalled is the environment variable that makes the test binary a program that waits for signals.
const signalled = "FLYBALL_TEST_SIGNALLED"

func TestMain(m *testing.M) {
	if os.Getenv(signalled) != "" {
		ctx := SignalContext()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println(context.Cause(ctx))
		if os.Getenv(signalled) == "drains" {
			os.Exit(0)
		}
		select {} // a reconcile that does not end
	}
	leaktest.Main(servertest.Wrap(m))
}

func TestSignalsStopTheProgram(t *testing.T) {
	tier.NotShort(t, "starts processes")
	for name, tc := range map[string]struct {
		program string
		signals []syscall.Signal
		says    string
		code    int
	}{
		"SIGTERM drains":         {"drains", []syscall.Signal{syscall.SIGTERM}, "signal: terminated", 0},
		"SIGINT drains":          {"drains", []syscall.Signal{syscall.SIGINT}, "signal: interrupt", 0},
		"a second one ends it":   {"hangs", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, "signal: terminated", 143},
		"of whatever kind it is": {"hangs", []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, "signal: terminated", 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), signalled+"="+tc.program)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for i, want := range []string{"ready", tc.says} {
				if !lines.Scan() || lines.Text() != want {
					t.Fatalf("line %d: %q, want %q", i, lines.Text(), want)
				}
				if i < len(tc.signals) {
					cmd.Process.Signal(tc.signals[i])
				}
			}
			err = cmd.Wait()
			if exit, _ := errors.AsType[*exec.ExitError](err); err != nil && (exit == nil || exit.ExitCode() != tc.code) || err == nil && tc.code != 0 {
				t.Errorf("ended with %v, want code %d", err, tc.code)
			}
		})
	}
}
