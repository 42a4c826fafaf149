// Package turn has a mutex for which one waits as for a channel: virtual time goes on while one does.
package turn

import "sync/atomic"

// Mutex is a mutual exclusion lock. It may be unlocked by another goroutine than the one that locked it.
// Use New.
type Mutex struct {
	wanted atomic.Int32  // by how many: whoever has it, and those who wait
	handed chan struct{} // one token: the lock, on its way to one who waits
}

// New returns one that is unlocked.
func New() *Mutex { return &Mutex{handed: make(chan struct{}, 1)} }

// Lock locks m, and waits until it is unlocked.
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
