package informer_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/store"
)

// The period of a handler begins when the informer syncs, or when the handler joins.
func TestResyncComesOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		in := newInformer(t, s)
		add := func() *atomic.Int64 {
			began := time.Now()
			var first atomic.Int64
			h := informer.Handler[corev1.ConfigMap]{Resync: time.Minute, OnUpdate: func(_, _ *corev1.ConfigMap) {
				first.CompareAndSwap(0, int64(time.Since(began)))
			}}
			if _, err := informer.AddHandler(in, h); err != nil {
				t.Fatal(err)
			}
			return &first
		}
		early := add()
		stop := start(t, in)
		defer stop()
		<-in.Synced()
		time.Sleep(7 * time.Second)
		late := add()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for name, first := range map[string]*atomic.Int64{"added before the start": early, "added while running": late} {
			if got := time.Duration(first.Load()); got != time.Minute {
				t.Errorf("%s: the first resync came after %v, want %v", name, got, time.Minute)
			}
		}
	})
}

// Resync shows a source everything once: not before the first list, and once for calls that come together.
func TestResyncOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		s.Put(configMap("b", "1"))
		in := newInformer(t, s)
		var told []string
		reg, err := in.Subscribe("source", func(c store.Change) {
			told = append(told, fmt.Sprintf("%s %v", c.Key.Name, c.Resync && c.Old == c.New))
		})
		if err != nil {
			t.Fatal(err)
		}
		reg.Resync()
		stop := start(t, in)
		defer stop()
		<-reg.Synced()
		for round, want := range []string{"[a false b false]", "[a true b true]", "[]"} {
			time.Sleep(time.Hour)
			synctest.Wait()
			if got := fmt.Sprint(told); got != want {
				t.Errorf("round %d: %s, want %s", round, got, want)
			}
			if told = nil; round == 0 {
				reg.Resync()
				reg.Resync()
			}
		}
	})
}
