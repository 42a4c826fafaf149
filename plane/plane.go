// Package plane starts and steers a real Kubernetes control plane on this
// machine: etcd, API server, controller manager, scheduler and kwok, which
// plays the kubelets. It is the program of the controlplane module, built on
// first use and run as one child process. Tests, the demonstration and the
// benchmarks use it; the framework itself does not.
//
//	Start ─▶ find the module's source ─▶ build, once for each version of it
//	                                          │   (user's cache directory)
//	                                          ▼
//	   Plane ── stdin: commands, and "I still live" ──▶ ┌──────────────┐
//	         ◀─ stdout: ready, answers ──────────────── │ controlplane │
//	         ◀─ stderr: logs ────────────────────────── │   process    │
//	         ── SIGSTOP SIGCONT SIGTERM SIGKILL ──────▶ └──────────────┘
//
// The process can be killed, paused, restarted on the same port and data,
// put back to an earlier state and made to forget its history: everything
// that a controller must survive. Its end is an event ([Plane.Done]), as is
// its readiness; nothing here polls.
//
// The process dies with its parent, however that one dies, and the
// certificates and the port stay the same over restarts, so that a client
// made once stays valid.
//
// To run it, Linux or macOS and a Go toolchain are needed. The first build
// takes 5 to 9 minutes on two cores and about 4 GB of Go's build cache; run
// [Build] ahead of a test run that has a short timeout.
package plane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options say how to run a control plane. The zero value works. They are
// read by Start only.
type Options struct {
	// DataDir holds all state: etcd's data, certificates, the port. It is
	// made if missing and kept at the end; given again, the cluster comes
	// back as it was, its kubeconfig too. "" means a temporary directory
	// that Close removes.
	DataDir string

	// Port is the API server's, on 127.0.0.1. Zero means the one that
	// DataDir had before, else any free one.
	Port int

	// Nodes is the number of nodes, each with room for a million Pods.
	// Zero means 1, negative means none.
	Nodes int

	// Binary is the control plane program. "" means the one that the
	// environment variable FLYBALL_CONTROLPLANE names, else the one that
	// Build makes.
	Binary string

	// Progress is told in lines what a build is doing and how long it
	// takes. nil means silence.
	Progress io.Writer

	// Log gets a copy of the control plane's logs as they come. nil means
	// that they are only kept for Plane.Log.
	Log io.Writer
}

// startBound ends a start that hangs. An idle machine takes 3 to 4 seconds.
const startBound = 3 * time.Minute

// stopBound is how long Stop waits before it kills. The process itself
// leaves after 3.5 seconds at most.
const stopBound = 5 * time.Second

// ErrNotRunning is returned by what needs a running control plane when it
// was stopped, killed or died.
var ErrNotRunning = errors.New("plane: control plane is not running")

// Plane is a control plane, running or not.
//
// The methods that tell something may be called at any time from any
// goroutine. Those that change whether it runs (Kill, Stop, Pause, Continue,
// Restart, Snapshot, Restore, Close) are for one goroutine at a time.
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

// Start builds the control plane if need be, starts it and returns when
// Pods can be created in the namespace "default" and run. ctx bounds the
// build and the start, not the life of the Plane, which its owner ends with
// Close.
//
// The error of a control plane that ended early is a [*ExitError].
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
	proc.mark = mark
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
	return p.learn(proc.url)
}

// learn notes what stays the same for all later processes.
func (p *Plane) learn(address string) error {
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

// URL is the API server's address, https://127.0.0.1:PORT.
func (p *Plane) URL() string { return p.url }

// DataDir is where all state lies.
func (p *Plane) DataDir() string { return p.dir }

// KubeconfigPath names a kubeconfig of an administrator (group
// system:masters), complete in itself. It goes when the data directory goes.
func (p *Plane) KubeconfigPath() string { return filepath.Join(p.dir, "admin.kubeconfig") }

// RESTConfig returns an administrator's client configuration, without a
// client-side rate limit. The copy belongs to the caller.
func (p *Plane) RESTConfig() *rest.Config { return rest.CopyConfig(p.config) }

// Log returns the logs of all processes that this Plane ran.
func (p *Plane) Log() *Log { return p.log }

// PID is the process id of the process that runs or ran last.
func (p *Plane) PID() int { return p.current().pid() }

// Done is closed when the process that runs at the time of the call has
// ended, for whatever reason.
func (p *Plane) Done() <-chan struct{} { return p.current().done }

// Err is nil while the process runs and an [*ExitError] when it has ended, for
// whatever reason.
func (p *Plane) Err() error {
	if proc := p.current(); !proc.running() {
		return p.exitError(proc)
	}
	return nil
}

func (p *Plane) exitError(proc *process) error {
	return &ExitError{Err: proc.err, Log: p.log.Tail(proc.mark, exitLines)}
}

func (p *Plane) current() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.proc
}

// Kill ends the process at once (SIGKILL), as a crash would, and returns when
// it has ended. Data and port stay for Restart.
func (p *Plane) Kill() { p.current().kill() }

// Stop ends the process in good order (SIGTERM), also when it is paused, and
// returns when it has ended, after five seconds at most, killed if need be.
// Data and port stay for Restart.
func (p *Plane) Stop() error { return p.current().stop(stopBound) }

// Pause freezes the process (SIGSTOP) and returns when it stands still:
// connections stay open and silent.
func (p *Plane) Pause() error { return p.current().pause() }

// Continue lets a paused process go on (SIGCONT).
func (p *Plane) Continue() error { return p.current().resume() }

// Restart stops the control plane if it runs, starts it again on the same
// port and data and returns when it is ready.
func (p *Plane) Restart(ctx context.Context) error {
	if err := p.Stop(); err != nil {
		return err
	}
	return p.start(ctx)
}

// Compact makes etcd drop all history before the current revision, which it
// returns. The API server itself remembers recent events and lists, from
// which it goes on to answer: watches for as long as it runs, continue tokens
// for up to 15 seconds. Write something, Compact and Restart, and it refuses
// both with 410.
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

// Close stops the control plane and removes its data directory if that is
// temporary. It may be called again.
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
