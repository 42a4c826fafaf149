package plane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// exitLines is the number of log lines in an ExitError.
const exitLines = 20

// ExitError is the error of a control plane that has ended.
type ExitError struct {
	// Err is the result of the process; nil means exit status 0.
	Err error
	// Log holds the last lines of its log.
	Log []string
}

func (e *ExitError) Error() string {
	how := "exit status 0"
	if e.Err != nil {
		how = e.Err.Error()
	}
	return fmt.Sprintf("plane: control plane ended: %s\n\t%s", how, strings.Join(e.Log, "\n\t"))
}

func (e *ExitError) Unwrap() error { return e.Err }

// process is one run of the program.
type process struct {
	cmd      *exec.Cmd
	logStart int // the first line of its log
	stdin    io.WriteCloser
	ready    chan struct{} // closed when url is set
	url      string
	done     chan struct{} // closed when err is set
	err      error

	mu      sync.Mutex
	waiting []chan string // pending answers, in the order of the commands
	paused  bool
}

// startProcess runs the program. One goroutine waits for the end of the process and then closes
// done. It needs no other stop.
func startProcess(binary string, args []string, log io.Writer) (*process, error) {
	p := &process{cmd: exec.Command(binary, args...), ready: make(chan struct{}), done: make(chan struct{})}
	p.cmd.Stdout = &lineWriter{line: p.line}
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = childAttr()
	p.cmd.WaitDelay = time.Second
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		// On Linux the thread that starts the process counts as its parent.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

// line handles one line of the program's standard output.
func (p *process) line(s string) {
	if url, ok := strings.CutPrefix(s, "ready: "); ok {
		p.url = url
		close(p.ready)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) > 0 {
		p.waiting[0] <- s
		p.waiting = p.waiting[1:]
	}
}

// command sends one command and returns its answer.
func (p *process) command(ctx context.Context, name string) (string, error) {
	answer := make(chan string, 1)
	p.mu.Lock()
	_, err := io.WriteString(p.stdin, name+"\n")
	if err == nil {
		p.waiting = append(p.waiting, answer)
	}
	p.mu.Unlock()
	if err != nil {
		return "", ErrNotRunning
	}
	select {
	case s := <-answer:
		return s, nil
	case <-p.done:
		return "", ErrNotRunning
	case <-ctx.Done():
		return "", fmt.Errorf("plane: %s: %w", name, context.Cause(ctx))
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill ends the process at once and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only if it has ended
	<-p.done
}

// stop ends the process in good order, or by force after the bound.
func (p *process) stop(bound time.Duration) error {
	if !p.running() {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.resume()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.kill()
		return fmt.Errorf("plane: control plane did not stop in %v and was killed", bound)
	}
	var exit *exec.ExitError
	if errors.As(p.err, &exit) && !endedBy(exit, syscall.SIGTERM) {
		return fmt.Errorf("plane: control plane ended: %w", p.err)
	}
	return nil
}

// endedBy reports whether the signal ended the process. SIGTERM does so before the program handles
// it.
func endedBy(exit *exec.ExitError, sig syscall.Signal) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == sig
}

// pause returns when the process has stopped.
func (p *process) pause() error { return p.setPaused(true, "pause", stopAndAwait) }

func (p *process) resume() error { return p.setPaused(false, "continue", resume) }

func (p *process) setPaused(paused bool, verb string, signal func(*os.Process) error) error {
	if err := signal(p.cmd.Process); err != nil {
		if !p.running() {
			return ErrNotRunning
		}
		return fmt.Errorf("plane: %s: %w", verb, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = paused
	return nil
}

func (p *process) isPaused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused
}

// lineWriter calls a function with each complete line.
type lineWriter struct {
	line    func(string)
	partial []byte
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.partial = append(w.partial, b...)
	for {
		line, rest, ok := bytes.Cut(w.partial, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		w.line(string(line))
		w.partial = rest
	}
}
