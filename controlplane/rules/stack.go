package main

import "runtime"

// deepen makes room on the stack of a goroutine that begins. The handlers are so deep that it would grow four times, and
// each time all of it is copied.
//
//go:noinline
func deepen() {
	var room [24 << 10]byte
	runtime.KeepAlive(&room)
}
