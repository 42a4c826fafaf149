package lock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/lock"
)

// One goroutine has the lock at a time, whichever unlocks it.
func TestMutexExcludes(t *testing.T) {
	m := lock.New()
	var all sync.WaitGroup
	n, tried := 0, 0
	for i := range 8 {
		all.Go(func() {
			for range 1000 {
				if i%4 == 0 {
					if !m.TryLock() {
						continue
					}
					tried++
				} else {
					m.Lock()
					n++
				}
				if n%100 == 0 {
					other := make(chan struct{})
					go func() {
						defer close(other)
						m.Unlock()
					}()
					<-other
					continue
				}
				m.Unlock()
			}
		})
	}
	all.Wait()
	if n != 6000 {
		t.Errorf("counted to %d", n)
	}
	if !m.TryLock() || m.TryLock() {
		t.Error("it is not unlocked at the end, or locked twice")
	}
}

// Virtual time goes on while a goroutine waits.
func TestVirtualTimeGoesOnDuringLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, began := lock.New(), time.Now()
		m.Lock()
		time.AfterFunc(time.Hour, m.Unlock)
		m.Lock()
		if took := time.Since(began); took != time.Hour {
			t.Errorf("it waited for %v", took)
		}
	})
}

func BenchmarkMutex(b *testing.B) {
	m, n := lock.New(), 0
	for b.Loop() {
		m.Lock()
		n++
		m.Unlock()
	}
}
