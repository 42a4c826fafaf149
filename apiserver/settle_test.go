package apiserver_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// What controllers were about to do when the state was restored does not happen in the restored state.
func TestRestoreEndsRequestsOfControllers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s, c := controlled(t, "deployment")
	snap := s.Snapshot()
	for range 2 {
		held := s.Fail(apiserver.On("create", "replicasets").From("kube-controller-manager"), apiserver.Hang)
		if _, err := client.Create(ctx, c, deployment("d")); err != nil {
			t.Fatal(err)
		}
		if err := held.Wait(ctx, 1); err != nil {
			t.Fatal(err)
		}
		s.Restore(snap)
		held.End()
		settle(t, s)
		if v := s.Snapshot().Version(); v != snap.Version() {
			t.Fatalf("something was written after the restore: version %d, want %d", v, snap.Version())
		}
	}
	if _, err := client.Create(ctx, c, deployment("d")); err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	if n := sets(t, c); n != 1 {
		t.Errorf("%d sets, want 1", n)
	}
}

// A state can be restored as soon as a server has started, before its controllers have run again.
func TestRestoreAtTheStart(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that they do not, most of the time
	ctx, other := t.Context(), apiserver.Start(t, apiserver.Options{InMemory: true})
	c := newClient(t, other)
	if _, err := client.Create(ctx, c, deployment("d")); err != nil {
		t.Fatal(err)
	}
	for i := range 10 { // the log then has what the controllers ask for, and not the Deployment
		if _, err := client.Create(ctx, c, configMap(fmt.Sprint("m", i), "")); err != nil {
			t.Fatal(err)
		}
	}
	crds := folder(t, map[string]string{"toys.yaml": toyCRD})
	for range 10 {
		s := apiserver.Start(t, apiserver.Options{InMemory: true, CRDs: crds, Controllers: []string{"deployment"}})
		s.Restore(other.Snapshot())
		settle(t, s)
		if n := sets(t, newClient(t, s)); n != 1 {
			t.Errorf("%d sets, want 1", n)
		}
	}
}

// Settle waits for controllers that have yet to see a restored state, though its version is that of the state before.
func TestSettleAfterRestore(t *testing.T) {
	ctx := t.Context()
	s, c := controlled(t, "deployment")
	other := apiserver.Start(t, apiserver.Options{InMemory: true})
	if _, err := client.Create(ctx, newClient(t, other), deployment("d")); err != nil {
		t.Fatal(err)
	}
	for i := 0; s.Snapshot().Version() < other.Snapshot().Version(); i++ {
		if _, err := client.Create(ctx, c, configMap(fmt.Sprint("m", i), "")); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, s)
	if a, b := s.Snapshot().Version(), other.Snapshot().Version(); a != b {
		t.Fatalf("version %d, want %d", b, a)
	}
	s.Restore(other.Snapshot())
	settle(t, s)
	if n := sets(t, c); n != 1 {
		t.Errorf("%d sets, want 1", n)
	}
}

// Settle waits for what has become due when the clock moves, be it by Advance or of itself.
func TestSettleWhenTheClockMoves(t *testing.T) {
	ctx := t.Context()
	var later atomic.Int64
	began := time.Now()
	ofTest := func() time.Time { return began.Add(time.Duration(later.Load())) }
	for name, c := range map[string]struct {
		now  func() time.Time
		move func(s *apiserver.Server)
	}{
		"by Advance":       {nil, func(s *apiserver.Server) { s.Advance(2 * time.Hour) }},
		"of itself":        {ofTest, func(*apiserver.Server) { later.Add(int64(2 * time.Hour)) }},
		"in a second step": {ofTest, func(s *apiserver.Server) { s.Advance(30 * time.Minute); settle(t, s); later.Add(int64(2 * time.Hour)) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := apiserver.Start(t, apiserver.Options{Controllers: []string{"scheduler", "kubelet", "serviceaccount"}, Now: c.now})
			live := newClient(t, s)
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Annotations: map[string]string{"kubelet.flyball.dev/exit-after": "1h"}},
				Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}
			settle(t, s)
			if _, err := client.Create(ctx, live, pod); err != nil {
				t.Fatal(err)
			}
			settle(t, s)
			c.move(s)
			settle(t, s)
			if got, err := client.Get[corev1.Pod](ctx, live, object.KeyOf(pod)); err != nil || got.Status.Phase != corev1.PodSucceeded {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func sets(t *testing.T, c *client.Live) (n int) {
	t.Helper()
	for _, err := range client.List[appsv1.ReplicaSet](t.Context(), c) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
