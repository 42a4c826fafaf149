//go:build amd64 || arm64

package workqueue

import "unsafe"

// prefetch loads the cache line at p into the nearest cache of the CPU. It does not wait. Any p is
// valid.
//
//go:noescape
func prefetch(p unsafe.Pointer)

// prefetch3 prefetches three cache lines.
//
//go:noescape
func prefetch3(a, b, c unsafe.Pointer)
