package suites

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/test/plane"
)

// Run is one run of a compiled test binary.
type Run struct {
	// Dir is the folder, and Binary the binary, as a path or from the folder.
	Dir, Binary string
	// Name names the run, its log, its report and the file FLYBALL_CALLS in the folder. Reports is another folder for
	// these files.
	Name      string
	Reports   string
	Ginkgo    bool // or a plain test
	Args, Env []string
	// Bound is the longest time: what runs then has failed. Grace is how long it may take to say so; zero: 1 min.
	Bound, Grace time.Duration
	// Plane is the binary of the control plane that the run has for itself. Empty: it has none.
	Plane string
	// Memory gives the run an API server in memory in place of a control plane.
	Memory bool
}

// latency is about that of the control plane. Some suites read a cache right after a write, without waiting for it.
const latency = 2 * time.Millisecond

// Result is what came of a run.
type Result struct {
	Report
	// Calls of the constructor made the packed side. Foreign are those that the hook left to the peer.
	Calls, Foreign int
	Took           time.Duration
	State          *os.ProcessState
}

// Do runs the tests. Errors are those of the control plane, and the end of ctx: what the tests do is in the result.
func (r Run) Do(ctx context.Context) (_ *Result, err error) {
	env := append(os.Environ(), "FLYBALL_CALLS="+r.file(".calls"))
	kubeconfig, stop, err := r.server(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if kubeconfig != "" {
		env = append(env, "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+kubeconfig)
	}
	res, err := r.execute(ctx, append(env, r.Env...))
	if err != nil {
		return nil, err
	}
	return res, res.count(r.file(".calls"))
}

// server starts the server of the run. The file is empty if it has none.
func (r Run) server(ctx context.Context) (kubeconfig string, stop func() error, err error) {
	switch {
	case r.Memory:
		s, err := apiserver.New(ctx, apiserver.Options{RBAC: true, Latency: latency})
		if err != nil {
			return "", nil, err
		}
		if err := os.WriteFile(r.file(".kubeconfig"), s.Kubeconfig(), 0o600); err != nil {
			return "", nil, errors.Join(err, s.Close())
		}
		return r.file(".kubeconfig"), s.Close, nil
	case r.Plane != "":
		p, err := plane.Start(ctx, plane.Options{Binary: r.Plane, Bare: true})
		if err != nil {
			return "", nil, err
		}
		return p.KubeconfigPath(), p.Close, nil
	}
	return "", func() error { return nil }, nil
}

// file is a file of the run.
func (r Run) file(ext string) string { return filepath.Join(cmp.Or(r.Reports, r.Dir), r.Name+ext) }

// execute runs the binary. What hangs is asked for its name, then for its goroutines, and then killed: each is a
// failure.
func (r Run) execute(ctx context.Context, env []string) (*Result, error) {
	grace := r.Grace
	if grace == 0 {
		grace = time.Minute
	}
	bounded, cancel := context.WithTimeout(ctx, r.Bound+grace)
	defer cancel()
	args := []string{"-test.v=test2json", "-test.timeout=" + r.Bound.String()}
	if r.Ginkgo {
		args = []string{"-ginkgo.json-report=" + r.file(".json"), "-ginkgo.no-color", "-ginkgo.timeout=" + r.Bound.String()}
	}
	cmd := exec.CommandContext(bounded, r.Binary, append(args, r.Args...)...)
	cmd.Dir, cmd.Env = r.Dir, env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 10 * time.Second
	log, err := os.Create(r.file(".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	start := time.Now()
	failure := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if cmd.ProcessState == nil { // it has not begun
		return nil, failure
	}
	out, err := os.ReadFile(r.file(".log"))
	if err != nil {
		return nil, err
	}
	res := &Result{Report: *GoTest(out), Took: time.Since(start), State: cmd.ProcessState}
	if r.Ginkgo {
		specs, err := Ginkgo(r.file(".json"))
		if err != nil {
			specs = &Report{Failed: []string{"the test process\nit wrote no report: " + err.Error() + "\n" + Last(out)}}
		}
		res.Report = *specs
	}
	switch {
	case bounded.Err() != nil:
		res.Failed = append(res.Failed, fmt.Sprintf("the test process\nit did not end in %v", r.Bound+grace))
	case failure != nil && len(res.Failed) == 0:
		res.Failed = append(res.Failed, "the test process\n"+failure.Error()+"\n"+Last(out))
	}
	return res, nil
}

// count reads the calls of the constructor. The file is not there if there were none.
func (res *Result) count(file string) error {
	calls, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if n, err := fmt.Sscan(string(calls), &res.Calls, &res.Foreign); n == 0 { // not every hook has foreign ones
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
