//go:build amd64 || arm64

package workqueue

import "unsafe"

// prefetch lets the CPU fetch the line of memory at p into its nearest cache, and does not wait.
// Where p points to does not matter.
//
//go:noescape
func prefetch(p unsafe.Pointer)

// prefetch3 is prefetch of three.
//
//go:noescape
func prefetch3(a, b, c unsafe.Pointer)
