package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/servertest"
)

func init() { roles["mirror"] = mirror }

const (
	configEnv    = "FLYBALL_TEST_KUBECONFIG"
	namespaceEnv = "FLYBALL_TEST_NAMESPACE"
)

// mirror is the program that is killed. For each ConfigMap w… it keeps one m-w…, with a line in its
// log for every value that it copied.
func mirror() int {
	mgr, err := flyball.New(flyball.Options{
		Name: "mirror", Kubeconfig: os.Getenv(configEnv),
		Cache:  cache.Options{Namespaces: []string{os.Getenv(namespaceEnv)}},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err == nil {
		_, err = controller.NewWith(mgr, "mirror", mirrors{mgr.Client()}.Reconcile, controller.Options{Workers: 4},
			controller.For[corev1.ConfigMap]())
	}
	if err == nil {
		err = mgr.Run(flyball.SignalContext())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type mirrors struct{ c client.Client }

func (m mirrors) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	req.Name = strings.TrimPrefix(req.Name, "m-")
	if !strings.HasPrefix(req.Name, "w") {
		return reconcile.Result{}, nil
	}
	from, err := client.Get[corev1.ConfigMap](ctx, m.c, req)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	to, missing := client.Get[corev1.ConfigMap](ctx, m.c, object.Key{Namespace: req.Namespace, Name: "m-" + req.Name})
	if client.IgnoreNotFound(missing) != nil {
		return reconcile.Result{}, missing
	}
	switch {
	case err != nil && missing != nil:
	case err != nil:
		return reconcile.Result{}, client.IgnoreNotFound(client.Delete(ctx, m.c, to, client.IfUID(to.UID)))
	case missing != nil:
		_, err = client.Create(ctx, m.c, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: "m-" + req.Name},
			Data:       map[string]string{"log": entry(from)},
		})
		return reconcile.Result{}, err
	case !strings.HasSuffix(to.Data["log"], entry(from)):
		to.Data["log"] += entry(from)
		_, err = client.Update(ctx, m.c, to)
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, nil
}

// entry returns the log line of a state. No two states of one name have the same.
func entry(o *corev1.ConfigMap) string { return fmt.Sprintf("%s/%s\n", o.UID, o.Data["i"]) }

// A controller is killed at random times and started again. In the end each object has exactly its
// side effects, each once.
func TestFault19Killed(t *testing.T) {
	tier.Audit(t, "kills processes")
	parallel(t)
	p := servertest.Shared(t)
	r := start(t, p, setup{})
	file := filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig(t, p, file)
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 19))
	r.during(func() {
		for range pick(100, 6) {
			child := spawn(t, "mirror", configEnv+"="+file, namespaceEnv+"="+r.ns)
			life := time.NewTimer(time.Duration(50+rnd.IntN(1500)) * time.Millisecond)
			select {
			case <-life.C:
			case err := <-child.exit:
				t.Errorf("the program ended by itself: %v", err)
			}
			child.Process.Kill()
			<-child.exit
		}
	})
	last := spawn(t, "mirror", configEnv+"="+file, namespaceEnv+"="+r.ns)
	r.churn(20) // the last one works for sure, and is there for signals
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	var err error
	if !r.state.await(ctx, func() bool { err = r.mirrored(); return err == nil }) {
		t.Error(err)
	}
	must(t, last.Process.Signal(os.Interrupt))
	if err := <-last.exit; err != nil {
		t.Errorf("an end in good order: %v", err)
	}
	if err := r.mirrored(); err != nil {
		t.Error(err)
	}
	r.nothingLost()
}

// mirrored checks three properties. Each object of the writers has a mirror of its last state. No
// other object has one. No mirror has a state twice.
func (r *rig) mirrored() error {
	want := map[string]string{}
	for _, w := range r.writers {
		for name, o := range w.mine {
			want["m-"+name] = entry(o)
		}
	}
	var errs []error
	for o, err := range client.List[corev1.ConfigMap](r.Context(), r.mgr.Cache(), client.InNamespace(r.ns)) {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(o.Name, "m-") {
			continue
		}
		log := o.Data["log"]
		if last, ok := want[o.Name]; !ok || !strings.HasSuffix(log, last) {
			errs = append(errs, fmt.Errorf("%s ends with %q, want %q", o.Name, log[max(0, len(log)-60):], last))
		}
		delete(want, o.Name)
		once := map[string]bool{}
		for line := range strings.Lines(log) {
			if once[line] {
				errs = append(errs, fmt.Errorf("%s has %q twice", o.Name, line))
			}
			once[line] = true
		}
	}
	for name := range want {
		errs = append(errs, fmt.Errorf("%s is missing", name))
	}
	return errors.Join(errs...)
}

// child is this test binary in another role.
type child struct {
	*exec.Cmd
	exit chan error // its exit error

	to  io.Writer
	mu  sync.Mutex
	log strings.Builder
}

// Write receives its stderr.
func (c *child) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log.Write(b)
	return c.to.Write(b)
}

// said returns its stderr so far.
func (c *child) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

func spawn(t *testing.T, role string, env ...string) *child {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	c := &child{Cmd: exec.Command(exe), exit: make(chan error, 1)}
	c.Env = append(append(os.Environ(), roleEnv+"="+role), env...)
	c.Stderr, c.to = c, t.Output()
	c.Stdout = t.Output()
	must(t, c.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.exit <- c.Wait()
	}()
	t.Cleanup(func() {
		c.Process.Kill()
		<-ended
	})
	return c
}

// kubeconfig writes an administrator's kubeconfig to a file.
func kubeconfig(t *testing.T, p interface {
	UserKubeconfig(string, ...string) ([]byte, error)
}, file string) {
	t.Helper()
	text, err := p.UserKubeconfig("admin", "system:masters")
	must(t, err)
	must(t, os.WriteFile(file, text, 0o600))
}
