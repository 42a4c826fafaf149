package main

import "sync"

// callLock holds the call that a part of the real server works for, where interfaces pass no context. One call holds
// it at a time.
type callLock struct {
	mu   sync.Mutex
	call *call
}

// acquire makes c the holder, and returns the function that releases the lock. It blocks while another call holds it.
func (t *callLock) acquire(c *call) (release func()) {
	t.mu.Lock()
	t.call = c
	return t.mu.Unlock
}
