// Package plane runs a real Kubernetes control plane on this machine: etcd, API server, controller
// manager, scheduler and kwok, which plays the kubelets. [Start] returns a [Plane] that is ready,
// with a client configuration; [Plane.Close] ends it:
//
//	p, err := plane.Start(ctx, plane.Options{})
//	defer p.Close()
//	config := p.RESTConfig()      an administrator's *rest.Config
//
// The control plane is the program of the controlplane module. It is built on first use and runs as
// one child process. Tests, the demonstration and the benchmarks use it; the framework itself does
// not. Tests get one from package planetest.
//
//	Start ─▶ find the module's source ─▶ build, once for each version of it
//	                                          │   (user's cache directory)
//	                                          ▼
//	   Plane ── stdin: commands; EOF ends it ─────────▶ ┌──────────────┐
//	         ◀─ stdout: ready, answers ──────────────── │ controlplane │
//	         ◀─ stderr: logs ────────────────────────── │   process    │
//	         ── SIGSTOP SIGCONT SIGTERM SIGKILL ──────▶ └──────────────┘
//
// The process can be killed, paused, restarted on the same port and data, restored to an earlier
// state, and made to forget its history. These are the faults that a controller must survive.
// Readiness and end are events ([Start], [Plane.Done]); nothing here polls.
//
// The process ends when its parent ends, however that happens. Certificates and port stay the same
// over restarts, so a client remains valid.
//
// The package needs Linux or macOS and a Go toolchain. The first build takes 5 to 9 minutes on two
// cores and about 4 GB of Go's build cache. Run [Build] before tests with a short timeout.
package plane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options configures a control plane. The zero value works. Start reads the options once.
type Options struct {
	// DataDir holds all state: etcd's data, certificates, the port. Start creates it if it is
	// missing; Close keeps it. A Plane with an earlier DataDir continues the same cluster with the
	// same kubeconfig. "" means a temporary directory that Close removes.
	DataDir string

	// Port is the API server's port on 127.0.0.1. Zero means the port stored in DataDir, or else
	// any free one.
	Port int

	// Nodes is the number of nodes, each with room for a million Pods. Zero means 1, negative means
	// none.
	Nodes int

	// Bare runs etcd and the API server alone, without admission of service accounts, as envtest does.
	// Pods are not scheduled, owned objects are not deleted, and namespaces stay when they are deleted.
	Bare bool

	// FeatureGates turns features of the API server on and off, as its flag --feature-gates does.
	FeatureGates map[string]bool

	// Binary is the control plane program. "" means the program in the environment variable
	// FLYBALL_CONTROLPLANE, or else the result of [Build], which reads FLYBALL_KUBERNETES.
	Binary string

	// Progress receives lines about the progress of a build. nil means no output.
	Progress io.Writer

	// Log receives a copy of the control plane's logs. nil means that only [Plane.Log] has them.
	Log io.Writer
}

// startBound is the timeout of a start. An idle machine takes 3 to 4 seconds.
const startBound = 3 * time.Minute

// stopBound is how long Stop waits before it kills. On an idle machine the process ends within 3.5
// seconds.
const stopBound = 20 * time.Second

// ErrNotRunning is the error of methods that need a running control plane, if it was stopped,
// killed or died.
var ErrNotRunning = errors.New("plane: control plane is not running")

// Plane is a control plane, running or not.
//
// Methods that only return information are safe for concurrent use at any time. Methods that change
// its state (Kill, Stop, Pause, Continue, Restart, Snapshot, Restore, Close) must not be called
// concurrently.
type Plane struct {
	binary    string
	args      []string
	dir       string
	temporary bool
	log       *Log
	out       io.Writer
	snapshots int
	port      int
	url       string
	config    *rest.Config

	mu   sync.Mutex
	proc *process // the last one started
}

// Start starts a control plane, and builds it if necessary. It returns when Pods can be created in
// the namespace "default" and run. ctx bounds the build and the start, not the life of the Plane.
// The caller must call Close.
//
// If the control plane ends before it is ready, the error is an [*ExitError].
func Start(ctx context.Context, opts Options) (*Plane, error) {
	binary, err := opts.binary(ctx)
	if err != nil {
		return nil, err
	}
	nodes := opts.Nodes
	switch {
	case nodes == 0:
		nodes = 1
	case nodes < 0:
		nodes = 0
	}
	p := &Plane{binary: binary, port: opts.Port, log: &Log{}}
	p.out = p.log
	if opts.Log != nil {
		p.out = io.MultiWriter(p.log, opts.Log)
	}
	p.args = []string{"--follow-stdin", fmt.Sprintf("--nodes=%d", nodes)}
	if opts.Bare {
		p.args = append(p.args, "--bare")
	}
	if len(opts.FeatureGates) > 0 {
		var gates []string
		for _, name := range slices.Sorted(maps.Keys(opts.FeatureGates)) {
			gates = append(gates, fmt.Sprintf("%s=%t", name, opts.FeatureGates[name]))
		}
		p.args = append(p.args, "--feature-gates="+strings.Join(gates, ","))
	}
	if opts.DataDir == "" {
		p.temporary = true
		p.args = append(p.args, "--temporary")
		p.dir, err = os.MkdirTemp("", "flyball-controlplane-")
	} else {
		p.dir, err = filepath.Abs(opts.DataDir)
	}
	if err != nil {
		return nil, fmt.Errorf("plane: data directory: %w", err)
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// binary returns the file name of the program to run.
func (o Options) binary(ctx context.Context) (string, error) {
	for _, name := range []string{o.Binary, os.Getenv(BinaryEnv)} {
		if name == "" {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("plane: control plane program: %w", err)
		}
		return filepath.Abs(name)
	}
	return Build(ctx, o.Progress)
}

// start runs a new process and waits until it is ready.
func (p *Plane) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startBound, fmt.Errorf("not ready after %v", startBound))
	defer cancel()
	args := append([]string{"--data-dir=" + p.dir, fmt.Sprintf("--port=%d", p.port)}, p.args...)
	mark := p.log.Lines()
	proc, err := startProcess(p.binary, args, p.out)
	if err != nil {
		return fmt.Errorf("plane: start %s: %w", p.binary, err)
	}
	proc.logStart = mark
	p.mu.Lock()
	p.proc = proc
	p.mu.Unlock()
	select {
	case <-proc.ready:
	case <-proc.done:
		return p.exitError(proc)
	case <-ctx.Done():
		proc.kill()
		return fmt.Errorf("plane: start: %w", context.Cause(ctx))
	}
	return p.setAddress(proc.url)
}

// setAddress stores the address and client configuration, which stay the same for all later
// processes.
func (p *Plane) setAddress(address string) error {
	if p.config != nil {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("plane: address: %w", err)
	}
	if _, err := fmt.Sscan(u.Port(), &p.port); err != nil {
		return fmt.Errorf("plane: address %s: %w", address, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", p.KubeconfigPath())
	if err != nil {
		return fmt.Errorf("plane: kubeconfig: %w", err)
	}
	config.QPS = -1
	p.url, p.config = address, config
	return nil
}

// URL returns the API server's address, https://127.0.0.1:PORT.
func (p *Plane) URL() string { return p.url }

// DataDir returns the directory that holds all state.
func (p *Plane) DataDir() string { return p.dir }

// KubeconfigPath returns the file name of a self-contained kubeconfig of an administrator (group
// system:masters). The file is removed with the data directory.
func (p *Plane) KubeconfigPath() string { return filepath.Join(p.dir, "admin.kubeconfig") }

// RESTConfig returns an administrator's client configuration without a client-side rate limit. The
// caller owns the copy.
func (p *Plane) RESTConfig() *rest.Config { return rest.CopyConfig(p.config) }

// Log returns the logs of all processes of this Plane.
func (p *Plane) Log() *Log { return p.log }

// PID returns the process id of the last process that was started.
func (p *Plane) PID() int { return p.current().pid() }

// Done returns a channel that is closed when the current process has ended, for whatever reason. A
// process started later has another channel.
func (p *Plane) Done() <-chan struct{} { return p.current().done }

// Err returns nil while the process runs, and an [*ExitError] after it has ended for whatever
// reason.
func (p *Plane) Err() error {
	if proc := p.current(); !proc.running() {
		return p.exitError(proc)
	}
	return nil
}

func (p *Plane) exitError(proc *process) error {
	return &ExitError{Err: proc.err, Log: p.log.Tail(proc.logStart, exitLines)}
}

func (p *Plane) current() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.proc
}

// Kill ends the process at once (SIGKILL), like a crash, and returns when it has ended. Data and
// port stay for Restart.
func (p *Plane) Kill() { p.current().kill() }

// Stop ends the process in good order (SIGTERM), also a paused one, and returns when it has ended.
// After 20 seconds it kills the process and returns an error. Data and port stay for Restart.
func (p *Plane) Stop() error { return p.current().stop(stopBound) }

// Pause freezes the process (SIGSTOP) and returns when it stands still. Connections stay open
// without traffic.
func (p *Plane) Pause() error { return p.current().pause() }

// Continue resumes a paused process (SIGCONT).
func (p *Plane) Continue() error { return p.current().resume() }

// Restart stops the control plane if it runs, and starts it on the same port and data. It returns
// when the control plane is ready.
func (p *Plane) Restart(ctx context.Context) error {
	if err := p.Stop(); err != nil {
		return err
	}
	return p.start(ctx)
}

// Compact removes all of etcd's history before the current revision, and returns that revision. The
// API server still answers from its own memory: watches as long as it runs, continue tokens for up
// to 15 seconds. After a write, Compact and Restart it answers both with 410.
func (p *Plane) Compact(ctx context.Context) (revision int64, err error) {
	answer, err := p.current().command(ctx, "compact")
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscanf(answer, "compacted: %d", &revision); err != nil {
		return 0, fmt.Errorf("plane: compact: control plane answered %q", answer)
	}
	return revision, nil
}

// Close stops the control plane, and removes its data directory if that is temporary. It may be
// called more than once.
func (p *Plane) Close() error {
	var err error
	if proc := p.current(); proc != nil {
		err = proc.stop(stopBound)
	}
	if p.temporary {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}
