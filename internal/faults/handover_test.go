package faults_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/servertest"
)

func init() { roles["ticker"] = ticker }

// ticker writes while it leads. It reports on stderr when it was ready, when its first reconcile
// began, and when its last write was answered.
func ticker() int {
	var first, last atomic.Int64
	code := candidate(leaseDuration, func(mgr *flyball.Manager) error {
		tick := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			if first.CompareAndSwap(0, time.Now().UnixNano()) {
				fmt.Fprintln(os.Stderr, "\nfirst", first.Load())
			}
			o, err := client.Get[corev1.ConfigMap](ctx, mgr.Client(), req)
			if err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			before := o.DeepCopy()
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, "at", time.Now().String())
			if _, err = client.Patch(ctx, mgr.Client(), o, client.Diff(before, o)); err == nil {
				last.Store(time.Now().UnixNano())
			}
			return reconcile.Result{RequeueAfter: 5 * time.Millisecond}, err
		}
		if _, err := controller.New(mgr, "tick", tick, controller.For[corev1.ConfigMap]()); err != nil {
			return err
		}
		_, err := mgr.Add(flyball.Always, "herald", func(ctx context.Context) error {
			look := time.NewTicker(10 * time.Millisecond)
			defer look.Stop()
			for mgr.Ready().Err(ctx) != nil {
				select {
				case <-look.C:
				case <-ctx.Done():
					return nil
				}
			}
			fmt.Fprintln(os.Stderr, "\nready", 1)
			return nil
		})
		return err
	})
	fmt.Fprintln(os.Stderr, "\nlast", last.Load())
	return code
}

// number returns the number that a ticker reported behind a word. Zero means none yet.
func (c *child) number(word string) (n int64) {
	for line := range strings.Lines(c.said()) {
		fmt.Sscanf(line, word+" %d", &n)
	}
	return n
}

// The leader is stopped, or killed, while it writes, with a standby beside it. The test checks that
// the standby writes afterwards, and logs the time without writes.
func TestStandbyWritesAfterTheLeader(t *testing.T) {
	tier.Audit(t, "ends processes by signals, and measures the time between them")
	parallel(t)
	p := servertest.Shared(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig(t, p, file)
	c := dial(t, p.RESTConfig())
	for _, tc := range []struct {
		name   string
		signal syscall.Signal
		n      int
	}{{"SIGTERM", syscall.SIGTERM, pick(100, 3)}, {"SIGKILL", syscall.SIGKILL, pick(20, 1)}} {
		t.Run(tc.name, func(t *testing.T) {
			parallel(t)
			ns := servertest.Namespace(t, p)
			_, err := client.Create(t.Context(), c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tick"}})
			must(t, err)
			start := func(i int) *child {
				return spawn(t, "ticker", configEnv+"="+file, namespaceEnv+"="+ns, identityEnv+"="+fmt.Sprint("c", i))
			}
			leads := start(0)
			await(t, "the first reconcile", func() bool { return leads.number("first") > 0 })
			var gaps []time.Duration
			for i := range tc.n {
				next := start(i + 1)
				await(t, "the standby is ready", func() bool { return next.number("ready") > 0 })
				if next.number("first") != 0 {
					t.Fatal("the standby works")
				}
				told := time.Now().UnixNano()
				must(t, leads.Process.Signal(tc.signal))
				err := <-leads.exit
				if tc.signal == syscall.SIGTERM && err != nil {
					t.Errorf("ended with %v", err)
				}
				await(t, "the take-over", func() bool { return next.number("first") > 0 })
				from := leads.number("last")
				if tc.signal == syscall.SIGKILL {
					from = told
				}
				gaps = append(gaps, time.Duration(next.number("first")-from))
				leads = next
			}
			slices.Sort(gaps)
			if gaps[0] < 0 {
				t.Errorf("two of them worked at once: %v", gaps[0])
			}
			t.Logf("%d hand-overs: nobody wrote for %v (p50), %v (p99), %v (longest)", len(gaps), gaps[len(gaps)/2], gaps[(len(gaps)-1)*99/100], gaps[len(gaps)-1])
		})
	}
}
