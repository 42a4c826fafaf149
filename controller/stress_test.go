package controller_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/workqueue"
)

// Writers change objects at random. Reconciles fail, panic, requeue and succeed at random. No two workers have one
// key at once. After its last change each key is reconciled, and that reconcile sees the change.
func TestNothingIsLostUnderLoad(t *testing.T) {
	const keys, writers, changes = 40, 4, 500
	m := newManager()
	w := m.watch("Deployment")
	close(w.synced)

	var busy [keys]atomic.Int32
	var saw [keys]atomic.Int64 // the version that the last successful reconcile saw
	settled := make(chan struct{}, 1)
	r := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		i, _ := strconv.Atoi(req.Name)
		if busy[i].Add(1) != 1 {
			t.Errorf("%s is with two workers", req)
		}
		defer busy[i].Add(-1)
		version, _ := strconv.ParseInt(w.latest(req), 10, 64)
		switch rand.IntN(10) {
		case 0:
			return reconcile.Result{}, errors.New("conflict")
		case 1:
			panic("oops")
		case 2:
			return reconcile.Result{RequeueAfter: time.Millisecond}, nil
		case 3:
			return reconcile.Result{Requeue: true}, nil
		}
		saw[i].Store(version)
		select {
		case settled <- struct{}{}:
		default:
		}
		return reconcile.Result{}, nil
	}
	limiter := func() workqueue.RateLimiter[any] {
		return workqueue.ExponentialLimiter[any](100*time.Microsecond, time.Millisecond)
	}
	c, err := controller.NewWith(m, "test", r, controller.Options{Workers: 8, RateLimiter: limiter}, forDeployments())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	subscribed := make(chan struct{})
	m.refuse = func(string) error { close(subscribed); return nil }
	go func() { done <- c.Run(ctx) }()
	<-subscribed
	m.watch("Deployment") // Subscribe has returned

	var version atomic.Int64
	var wait sync.WaitGroup
	for range writers {
		wait.Go(func() {
			for range changes {
				i := rand.IntN(keys)
				if rand.IntN(10) == 0 {
					w.remove(key(strconv.Itoa(i)))
				} else {
					w.set(deployment(strconv.Itoa(i), int(version.Add(1))), false)
				}
			}
		})
	}
	wait.Wait()
	for i := range keys {
		w.set(deployment(strconv.Itoa(i), int(version.Add(1))), false)
	}

	deadline := time.After(5 * time.Minute)
	for behind := keys; behind > 0; {
		select {
		case <-settled:
		case <-deadline:
			t.Fatalf("%d keys were not reconciled at their last version", behind)
		}
		behind = 0
		for i := range keys {
			want, _ := strconv.ParseInt(w.latest(key(strconv.Itoa(i))), 10, 64)
			if saw[i].Load() != want {
				behind++
			}
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// One controller is started and stopped many times, in every phase. TestMain finds goroutines that leak.
func TestManyStartsAndStopsLeakNothing(t *testing.T) {
	m := newManager()
	r := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: time.Microsecond}, nil
	}
	c, err := controller.NewWith(m, "test", r, controller.Options{Workers: 2}, forDeployments(), controller.Owns[corev1.Pod]())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		m.mu.Lock()
		m.watches = map[string]*watch{}
		m.mu.Unlock()
		ctx, cancel := context.WithCancelCause(context.Background())
		if i%3 > 0 {
			close(m.watch("Deployment").synced)
		}
		if i%3 > 1 {
			close(m.watch("Pod").synced)
		}
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		if i%2 == 0 {
			for !c.Enqueue(key("a")) {
			}
		}
		cancel(fmt.Errorf("round %d", i))
		if err := <-done; err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
}
