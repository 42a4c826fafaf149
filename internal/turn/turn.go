// Package turn has a mutex for which one waits as for a channel: virtual time goes on while one does.
package turn

// Mutex is a mutual exclusion lock. Use New.
type Mutex chan struct{}

// New returns one that is unlocked.
func New() Mutex { return make(Mutex, 1) }

// Lock locks m, and waits until it is unlocked.
func (m Mutex) Lock() { m <- struct{}{} }

// TryLock locks m if it is unlocked, and reports whether it did.
func (m Mutex) TryLock() bool {
	select {
	case m <- struct{}{}:
		return true
	default:
		return false
	}
}

// Unlock unlocks m.
func (m Mutex) Unlock() { <-m }
