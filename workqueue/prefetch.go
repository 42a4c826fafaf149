//go:build amd64 || arm64

package workqueue

import "unsafe"

// prefetch lets the CPU fetch the line of memory at p into its nearest cache, and does not wait.
// Where p points to does not matter.
//
//go:noescape
func prefetch(p unsafe.Pointer)

// prefetch4 is prefetch of four.
//
//go:noescape
func prefetch4(a, b, c, d unsafe.Pointer)
