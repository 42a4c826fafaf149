package controller_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/test/operatortest"
	"github.com/flyball-io/flyball/test/servertest"

	"github.com/flyball-io/flyball/examples/guestbook/internal/setup"
)

// What a replica gets from the test by its environment: its name, which makes this binary one, and
// its namespace.
const (
	replicaName      = "GUESTBOOK_REPLICA"
	replicaNamespace = "GUESTBOOK_NAMESPACE"
	lease            = "guestbook"
)

// replica is the program as cmd/main.go runs it, but for its short lease. Its webhooks are served by
// the test, which nobody kills.
func replica(name string) error {
	o, err := setup.Options()
	if err != nil {
		return err
	}
	ns := os.Getenv(replicaNamespace)
	o.Cache.Namespaces = []string{ns}
	o.Leader = &leader.Options{
		Namespace: ns, Name: lease, Identity: name,
		LeaseDuration: 10 * time.Second, RenewDeadline: 8 * time.Second, RetryPeriod: 300 * time.Millisecond, // a loaded machine is slow
	}
	mgr, err := flyball.New(o)
	if err != nil {
		return err
	}
	if err := setup.Add(mgr); err != nil {
		return err
	}
	return mgr.Run(flyball.SignalContext())
}

// replicas are processes of the program; one that ends is followed by another.
type replicas struct {
	mu    sync.Mutex
	last  int
	alive map[string]*os.Process
	ended map[string]string // what the others said last
	wg    sync.WaitGroup
}

// run keeps n replicas alive until the test ends.
func (r *replicas) run(t *testing.T, op *operatortest.Operator, n int) {
	r.alive, r.ended = map[string]*os.Process{}, map[string]string{}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		cancel()
		r.wg.Wait()
		if t.Failed() {
			for _, name := range slices.Sorted(maps.Keys(r.ended)) {
				t.Logf("%s: %s", name, r.ended[name])
			}
		}
	})
	kubeconfig := servertest.Shared(t).KubeconfigPath()
	for range n {
		r.wg.Go(func() {
			for ctx.Err() == nil {
				name := r.next()
				cmd := exec.CommandContext(ctx, self)
				cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, replicaName+"="+name, replicaNamespace+"="+op.Namespace)
				said := &tail{}
				cmd.Stdout, cmd.Stderr = said, said
				if err := cmd.Start(); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				r.note(name, cmd.Process, "")
				err := cmd.Wait()
				r.note(name, nil, fmt.Sprintf("%v: %s", err, said.text))
			}
		})
	}
}

func (r *replicas) next() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	return fmt.Sprintf("replica-%d", r.last)
}

// note keeps a process that was started, or what it said, when it has ended.
func (r *replicas) note(name string, p *os.Process, said string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p != nil {
		r.alive[name] = p
		return
	}
	delete(r.alive, name)
	r.ended[name] = said
}

// kill kills a replica, without a warning, and reports whether it lived.
func (r *replicas) kill(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.alive[name]
	delete(r.alive, name)
	return p != nil && p.Kill() == nil
}

// lives reports whether a replica does.
func (r *replicas) lives(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alive[name] != nil
}

// said is what a replica that has ended said last.
func (r *replicas) said(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended[name]
}

// tail keeps the end of what is written.
type tail struct{ text []byte }

func (w *tail) Write(p []byte) (int, error) {
	const most = 4000
	w.text = append(w.text, p...)
	w.text = w.text[max(0, len(w.text)-most):]
	return len(p), nil
}
