package faults_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/servertest"
)

func init() {
	roles["candidate"] = func() int { return candidate(leaseDuration, writes) }
	roles["worker"] = func() int { return candidate(time.Minute, works) } // nobody waits for its lease
}

const (
	identityEnv = "FLYBALL_TEST_IDENTITY"
	workEnv     = "FLYBALL_TEST_WORK"
)

// leaseDuration is short, and long enough that a loaded machine does not cost a leader its lease.
const leaseDuration = 15 * time.Second

// candidate is a program that acts while it leads.
func candidate(lease time.Duration, acts func(*flyball.Manager) error) int {
	ns := os.Getenv(namespaceEnv)
	mgr, err := flyball.New(flyball.Options{
		Name: "candidate", Kubeconfig: os.Getenv(configEnv), Cache: cache.Options{Namespaces: []string{ns}},
		Leader: &leader.Options{Namespace: ns, Identity: os.Getenv(identityEnv), LeaseDuration: lease},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)).With("identity", os.Getenv(identityEnv)),
	})
	if err == nil {
		err = acts(mgr)
	}
	if err == nil {
		err = mgr.Run(flyball.SignalContext())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if _, lost := errors.AsType[*leader.LostError](err); lost {
			return 3
		}
		return 1
	}
	return 0
}

// writes creates a ConfigMap every few milliseconds. After the lease is lost it continues as long
// as it can: only the fence prevents its writes.
func writes(mgr *flyball.Manager) error {
	ns, identity := os.Getenv(namespaceEnv), os.Getenv(identityEnv)
	_, err := mgr.Add(flyball.Lead, "writer", func(ctx context.Context) error {
		past := context.WithoutCancel(ctx)
		for i := 0; ; i++ {
			_, err := client.Create(past, mgr.Client(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: fmt.Sprint(identity, "-", i), Labels: map[string]string{"by": identity},
			}})
			_, fenced := errors.AsType[*client.FencedError](err)
			if _, told := errors.AsType[*flyball.SignalError](context.Cause(ctx)); told || fenced && ctx.Err() != nil {
				return nil
			}
			time.Sleep(5 * time.Millisecond) // the time of the work
		}
	})
	return err
}

// Fault 16: a leader is suspended, another one takes over, and the first wakes up in the middle of
// its writes. No write of it arrives after the first write of the other, and it ends with the
// cause.
func TestFault16SuspendedLeader(t *testing.T) {
	tier.Audit(t, "suspends processes")
	parallel(t)
	p := servertest.Shared(t)
	ns, c := servertest.Namespace(t, p), dial(t, p.RESTConfig())
	file := filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig(t, p, file)
	start := func(i int) (string, *child) {
		identity := fmt.Sprint("c", i)
		return identity, spawn(t, "candidate", configEnv+"="+file, namespaceEnv+"="+ns, identityEnv+"="+identity)
	}
	// versions of the first and last write of a candidate; zero: none
	wrote := func(identity string) (first, last uint64) {
		for o, err := range client.List[corev1.ConfigMap](t.Context(), c, client.InNamespace(ns), client.MatchingLabels{"by": identity}) {
			must(t, err)
			v, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
			must(t, err)
			if first == 0 || v < first {
				first = v
			}
			last = max(last, v)
		}
		return first, last
	}
	name, leads := start(0)
	await(t, "the first writes", func() bool { _, last := wrote(name); return last > 0 })
	for i := range pick(50, 2) {
		next, follows := start(i + 1)
		must(t, leads.Process.Signal(syscall.SIGSTOP))
		var taken uint64
		await(t, "the next one writes", func() bool { taken, _ = wrote(next); return taken > 0 })
		must(t, leads.Process.Signal(syscall.SIGCONT))
		err := <-leads.exit
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
			t.Errorf("the one that was suspended ended with %v", err)
		}
		if _, last := wrote(name); last > taken {
			t.Errorf("hand-over %d: it wrote version %d; the next one had begun with %d", i, last, taken)
		}
		name, leads = next, follows
	}
	must(t, leads.Process.Signal(syscall.SIGTERM))
	if err := <-leads.exit; err != nil {
		t.Errorf("an end in good order: %v", err)
	}
}

// works reconciles one object for a while, and writes before and after.
func works(mgr *flyball.Manager) error {
	ns := os.Getenv(namespaceEnv)
	takes, err := time.ParseDuration(os.Getenv(workEnv))
	if err != nil {
		return err
	}
	mark := func(ctx context.Context, name string) error {
		_, err := client.Create(ctx, mgr.Client(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}})
		return err
	}
	work := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if req.Name != "work" {
			return reconcile.Result{}, nil
		}
		if err := mark(ctx, "begun"); err != nil {
			return reconcile.Result{}, err
		}
		select {
		case <-time.After(takes):
			return reconcile.Result{}, mark(ctx, "done")
		case <-ctx.Done():
			return reconcile.Result{}, context.Cause(ctx)
		}
	}
	_, err = controller.New(mgr, "work", work, controller.For[corev1.ConfigMap]())
	return err
}

// Fault 18: a program is told to stop in the middle of a reconcile. It lets the reconcile finish,
// releases the lease, and ends with code 0. Told twice, it ends at once.
func TestFault18Terminated(t *testing.T) {
	tier.Audit(t, "ends processes by signals")
	parallel(t)
	p := servertest.Shared(t)
	c := dial(t, p.RESTConfig())
	file := filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig(t, p, file)
	for name, tc := range map[string]struct {
		signals int
		code    int
	}{"once": {1, 0}, "twice": {2, 143}} {
		t.Run(name, func(t *testing.T) {
			parallel(t)
			ns := servertest.Namespace(t, p)
			_, err := client.Create(t.Context(), c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "work"}})
			must(t, err)
			takes := pick(20*time.Second, 3*time.Second)
			if tc.signals > 1 {
				takes = time.Hour
			}
			prog := spawn(t, "worker", configEnv+"="+file, namespaceEnv+"="+ns, identityEnv+"=me", workEnv+"="+takes.String())
			version := func(name string) uint64 {
				o, err := client.Get[corev1.ConfigMap](t.Context(), c, object.Key{Namespace: ns, Name: name})
				if client.IgnoreNotFound(err) != nil {
					t.Fatal(err)
				}
				if err != nil {
					return 0
				}
				v, _ := strconv.ParseUint(o.ResourceVersion, 10, 64)
				return v
			}
			ctx, cancel := context.WithTimeout(t.Context(), hung)
			defer cancel()
			if !newChanges().await(ctx, func() bool { return version("begun") > 0 }) {
				t.Fatal("it does not begin")
			}
			must(t, prog.Process.Signal(syscall.SIGTERM))
			if tc.signals > 1 {
				// The log tells that the first signal was received. Before that, a second signal of
				// the same kind would merge with it.
				if !newChanges().await(ctx, func() bool { return strings.Contains(prog.said(), "manager stops") }) {
					t.Fatal("it does not stop")
				}
				must(t, prog.Process.Signal(syscall.SIGTERM))
			}
			err = <-prog.exit
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() != tc.code || err == nil && tc.code != 0 {
				t.Errorf("ended with %v, want code %d", err, tc.code)
			}
			lease, err := client.Get[coordinationv1.Lease](t.Context(), c, object.Key{Namespace: ns, Name: "candidate"})
			must(t, err)
			holder := ""
			if lease.Spec.HolderIdentity != nil {
				holder = *lease.Spec.HolderIdentity
			}
			released, _ := strconv.ParseUint(lease.ResourceVersion, 10, 64)
			switch done := version("done"); {
			case tc.signals == 1 && (done == 0 || holder != "" || released < done):
				t.Errorf("done at version %d; the lease is held by %q since version %d", done, holder, released)
			case tc.signals > 1 && (done != 0 || holder != "me"):
				t.Errorf("done at version %d; the lease is held by %q", done, holder)
			}
		})
	}
}
