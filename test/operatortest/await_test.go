package operatortest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/servertest"
)

// failing is a test that may fail. Its output is kept.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// ends runs f as a test, and returns how it failed.
func ends(t *testing.T, f func(testing.TB)) string {
	test := &failing{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f(test)
	}()
	<-ended
	return test.said
}

// TestAwaitEndsWhenNothingMoves goes through the ways in which an operator can leave an object as it is, for ever or
// for a while. Await in vain says at once why, on a server in memory, and waits on while anything is still to come.
func TestAwaitEndsWhenNothingMoves(t *testing.T) {
	if servertest.Real() {
		t.Skip("on a real control plane nobody knows whether anything moves")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "role.yaml"), []byte(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: role}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: role}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: role}
`), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "rbac"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "role.yaml"), filepath.Join(dir, "rbac", "role.yaml")); err != nil {
		t.Fatal(err)
	}
	var op *Operator
	set := func(ctx context.Context, key object.Key) error {
		_, err := client.Patch(ctx, op.Manager.Client(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}, client.MergePatch(`{"data":{"done":"yes"}}`))
		return err
	}
	var tries [3]atomic.Int64
	op = Start(t, Program{
		Config: dir,
		Add: func(m *flyball.Manager) error {
			_, err := controller.New(m, "maps", func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				switch req.Name {
				case "fails":
					return reconcile.Result{}, errors.New("the shop is shut")
				case "forbidden":
					_, err := client.Create(ctx, m.Client(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: "s"}})
					return reconcile.Result{}, err
				case "terminal":
					return reconcile.Result{}, reconcile.Terminal(errors.New("never"))
				case "later":
					if tries[0].Add(1) == 1 {
						return reconcile.Result{RequeueAfter: 4 * time.Second}, nil
					}
					return reconcile.Result{}, set(ctx, req)
				case "periodic":
					if tries[2].Add(1) < 5 {
						return reconcile.Result{RequeueAfter: time.Second}, nil
					}
					return reconcile.Result{}, set(ctx, req)
				case "retried":
					if tries[1].Add(1) < persistent-1 {
						return reconcile.Result{}, errors.New("not yet")
					}
					return reconcile.Result{}, set(ctx, req)
				case "slow":
					time.Sleep(4 * time.Second)
					return reconcile.Result{}, set(ctx, req)
				}
				return reconcile.Result{}, nil
			}, controller.For[corev1.ConfigMap]())
			return err
		},
	})
	cases := map[string][]string{
		"untouched": {"nothing moves any more", "it has not changed", "name: untouched"},
		"absent":    {"nothing moves any more", "it does not exist"},
		"fails":     {"nothing moves any more", "the shop is shut", "attempt="},
		"forbidden": {"nothing moves any more", "secrets", "forbidden"},
		"terminal":  {"nothing moves any more", "never"},
		"retried":   nil,
	}
	if tier.InAudit() { // they go on after seconds of the real clock
		cases["later"], cases["periodic"], cases["slow"] = nil, nil, nil
	}
	for name, want := range cases {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: op.Namespace, Name: name}}
		if name != "absent" {
			if _, err := client.Create(t.Context(), op.Client, obj); err != nil {
				t.Fatal(err)
			}
		}
		got := ends(t, func(t testing.TB) {
			Await(t, op, obj, func(c *corev1.ConfigMap) bool { return c.Data["done"] == "yes" })
		})
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is missing in %q", name, w, got)
			}
		}
		if want == nil && got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestAwaitWaitsForTheServer: what the server's controllers will do counts.
func TestAwaitWaitsForTheServer(t *testing.T) {
	op := Start(t, Program{})
	pod, err := client.Create(t.Context(), op.Client, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: op.Namespace, Name: "slow", Annotations: map[string]string{"kubelet.flyball.dev/ready-after": "5s"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	Await(t, op, pod, func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
}

// TestAwaitEndsAtItsBound: while the operator has something to do later, Await ends by Program.Bound alone.
func TestAwaitEndsAtItsBound(t *testing.T) {
	tier.Audit(t, "waits for a bound by the real clock")
	op := Start(t, Program{})
	op.program.Bound = 5 * time.Second
	op.said.of(nil).Warn("reconcile failed", "object", op.Namespace+"/a", "err", "the shop is shut")
	op.program.Run = func(context.Context, *Operator) error { return nil } // not watched
	made, err := client.Create(t.Context(), op.Client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: op.Namespace, Name: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	got := ends(t, func(t testing.TB) {
		changed := false
		Await(t, op, made, func(c *corev1.ConfigMap) bool {
			if !changed {
				changed = true
				c.Data = map[string]string{"sold": "books"}
				if _, err := client.Update(t.Context(), op.Client, c); err != nil {
					t.Error(err)
				}
			}
			return false
		})
	})
	for _, want := range []string{"5s are over", "the shop is shut", "sold: books", "+"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}
