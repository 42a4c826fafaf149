// Package lock has a mutex that waits on a channel: in a synctest bubble virtual time goes on
// during the wait.
package lock

import "sync/atomic"

// Mutex is a mutual exclusion lock. A goroutine may unlock it that did not lock it. Use New.
type Mutex struct {
	wanted atomic.Int32  // the holder and all waiters
	handed chan struct{} // one token: passes the lock to a waiter
}

// New returns an unlocked mutex.
func New() *Mutex { return &Mutex{handed: make(chan struct{}, 1)} }

// Lock locks m. It waits while m is locked.
func (m *Mutex) Lock() {
	if m.wanted.Add(1) > 1 {
		<-m.handed
	}
}

// TryLock locks m if it is unlocked, and reports whether it did.
func (m *Mutex) TryLock() bool { return m.wanted.CompareAndSwap(0, 1) }

// Unlock unlocks m, which must be locked.
func (m *Mutex) Unlock() {
	if m.wanted.Add(-1) > 0 {
		m.handed <- struct{}{}
	}
}
