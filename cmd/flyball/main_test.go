package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/test/plane"
)

func TestMain(m *testing.M) {
	testscript.Main(withProgram{m}, map[string]func(){"flyball": main})
}

// withProgram removes the folder of program after the tests.
type withProgram struct{ testscript.TestingM }

func (w withProgram) Run() int {
	defer func() { _ = os.RemoveAll(programDir) }()
	return w.TestingM.Run()
}

var programDir string

// plainProgram returns the folder of the program without the race detector. If this one has it, the program is
// built, once for all scripts: they run many commands, each in a process of its own, which would take a second
// to start.
var plainProgram = sync.OnceValues(func() (string, error) {
	if !raced {
		name, err := exec.LookPath("flyball") // this program; see TestMain
		return filepath.Dir(name), err
	}
	dir, err := os.MkdirTemp("", "flyball-test-")
	if err != nil {
		return "", err
	}
	programDir = dir
	if out, err := exec.Command("go", "build", noDebug, "-o", dir+string(filepath.Separator), ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

// noDebug leaves out the debug information, which is half of the time of a link.
const noDebug = "-ldflags=-w"

// scriptEnv has the scripts use the program of plainProgram.
func scriptEnv(t *testing.T) func(*testscript.Env) {
	t.Helper()
	dir, err := plainProgram()
	if err != nil {
		t.Fatal(err)
	}
	return func(env *testscript.Env) {
		env.Setenv("PATH", dir+string(filepath.ListSeparator)+env.Getenv("PATH"))
	}
}

func TestExitStatus(t *testing.T) {
	for _, test := range []struct {
		args string
		want int
	}{
		{"juggle", 2},
		{"controlplane --porte 1", 2},
		{"controlplane --port x", 2},
		{"controlplane --port 65536", 2},
		{"controlplane --nodes -1", 2},
		{"controlplane --kubeconfig-out /nowhere/at/all", 2},
		{"controlplane --kubeconfig-out /", 2},
		{"controlplane now", 2},
		{"controlplane", 1},
		{"apiserver --port 65536", 2},
		{"apiserver --kubeconfig-out /", 2},
		{"apiserver --kubeconfig-out /proc/kubeconfig", 2}, // where nobody can make a file
		{"apiserver now", 2},
		{"apiserver --state /nowhere/at/all", 2},
		{"apiserver --state /", 2},
		{"apiserver --controllers deploymint", 2},
		{"apiserver --crds /nowhere", 2},
		{"apiserver --from /nowhere", 2},
		{"apiserver --from /", 2},
		{"apiserver --latency -1ms", 2},
		{"apiserver --latency 5", 2},
		{"apiserver --feature-gates WatchList=true", 2},
		{"apiserver --feature-gates ShardedListAndWatch=maybe", 2},
		{"apiserver --feature-gates ShardedListAndWatch", 2},
		{"rbac", 2},
		{"rbac --with telepathy", 2},
		{"rbac --with leases --check", 2},
		{"rbac --recorded /nowhere/at/all", 1},
		{"weigh now", 2},
		{"weigh -o yaml", 2},
		{"weigh --program /nowhere/at/all", 1},
		{"sim --pairs -1", 2},
		{"sim --pairs x", 2},
		{"sim --seed -1", 2},
		{"sim --budget 0s", 2},
		{"sim --budget -1m", 2},
		{"sim --budget 5", 2},
		{"sim --budget 1m --pairs 3", 2},
		{"sim --replay x --pairs 3", 2},
		{"sim --replay x --seed 3", 2},
		{"sim --replay=", 2},
		{"sim -o /nowhere/at/all", 2},
		{"sim -o /", 2},
		{"sim --output=", 2},
		{"sim --dir /nowhere/at/all", 2},
		{"sim --race", 2},
		{"sim -- -race", 2},
		{"sim ./nowhere/at/all", 1},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Setenv(plane.BinaryEnv, filepath.Join(t.TempDir(), "none"))
			if got := run(strings.Fields(test.args)); got != test.want {
				t.Errorf("exit status %d, want %d", got, test.want)
			}
		})
	}
}

// A script that goes on after a build finds the program.
func TestInterruptedBuildFails(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, env := range []string{plane.BinaryEnv, plane.RulesEnv} {
		t.Setenv(env, "")
	}
	for _, command := range []string{"apiserver", "controlplane"} {
		root := newRoot()
		root.SetArgs([]string{command, "--build-only"})
		root.SetErr(io.Discard)
		if err := root.ExecuteContext(ctx); err == nil {
			t.Errorf("%s --build-only: no error, though nothing was built", command)
		}
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	path := scriptEnv(t)
	binary, rules := servers(t)
	testscript.Run(t, testscript.Params{
		Dir:       filepath.Join("testdata", "script"),
		Condition: condition,
		Setup: func(env *testscript.Env) error {
			path(env)
			env.Setenv(plane.BinaryEnv, binary)
			env.Setenv(plane.RulesEnv, rules)
			env.Values[backgroundKey{}] = &background{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"up":    up,
			"serve": serve,
			"port":  port,
			"down":  down,
			"get":   get,
		},
	})
}

// background is the control plane that "up" started.
type background struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// backgroundKey is the key of a script's background.
type backgroundKey struct{}

// up ARG... runs "flyball controlplane ARG..." in the background, waits for its ready line and sets
// $URL from it. If tests that need a real control plane are left out, it does as serve does.
func up(ts *testscript.TestScript, neg bool, args []string) {
	if livetest.NoReal() {
		serve(ts, neg, args)
		return
	}
	startIn(ts, append([]string{"controlplane"}, args...))
}

// serve ARG... does the same with "flyball apiserver ARG...".
func serve(ts *testscript.TestScript, neg bool, args []string) {
	startIn(ts, append([]string{"apiserver"}, args...))
}

// port sets $PORT to that of $URL.
func port(ts *testscript.TestScript, neg bool, args []string) {
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(ts.Getenv("URL"), "http://"))
	ts.Setenv("PORT", port)
}

func startIn(ts *testscript.TestScript, args []string) {
	name, err := exec.LookPath("flyball")
	ts.Check(err)
	b := ts.Value(backgroundKey{}).(*background)
	*b = background{cmd: exec.Command(name, args...)}
	b.cmd.Dir = ts.MkAbs(".")
	b.cmd.Env = append(os.Environ(), "TMPDIR="+ts.Getenv("TMPDIR"), plane.BinaryEnv+"="+ts.Getenv(plane.BinaryEnv))
	b.cmd.Stderr = &b.stderr
	out, err := b.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(b.cmd.Start())
	ts.Defer(func() {
		if b.cmd.ProcessState == nil {
			_ = b.cmd.Process.Signal(syscall.SIGTERM)
			_ = b.cmd.Wait()
		}
	})
	b.stdout = bufio.NewReader(out)
	line, err := b.stdout.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "ready: ")
	if err != nil || !ok {
		ts.Fatalf("first line on stdout: %q, %v; stderr: %s", line, err, b.stderr.String())
	}
	ts.Setenv("URL", url)
}

// down SIGNAL stops the control plane of up. It checks that the process ends with status 0 and has
// printed only the ready line.
func down(ts *testscript.TestScript, neg bool, args []string) {
	b := ts.Value(backgroundKey{}).(*background)
	sig := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP}[args[0]]
	ts.Check(b.cmd.Process.Signal(sig))
	rest, err := io.ReadAll(b.stdout)
	ts.Check(err)
	if len(rest) > 0 {
		ts.Fatalf("more on stdout: %s", rest)
	}
	if err := b.cmd.Wait(); err != nil {
		ts.Fatalf("%v; stderr: %s", err, b.stderr.String())
	}
}

// get KUBECONFIG PATH sends a request to the API server and writes the answer to the file "answer".
// With a "!" before it, the answer must be a 404.
func get(ts *testscript.TestScript, neg bool, args []string) {
	config, err := clientcmd.BuildConfigFromFlags("", ts.MkAbs(args[0]))
	ts.Check(err)
	if got, want := config.Host, ts.Getenv("URL"); got != want {
		ts.Fatalf("kubeconfig leads to %s, want %s", got, want)
	}
	tlsConfig, err := rest.TLSConfigFor(config)
	ts.Check(err)
	transport := &http.Transport{TLSClientConfig: tlsConfig}
	defer transport.CloseIdleConnections()
	keep(ts, neg, &http.Client{Transport: transport}, config.Host+args[1])
}
