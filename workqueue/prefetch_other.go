//go:build !amd64 && !arm64

package workqueue

import "unsafe"

func prefetch(unsafe.Pointer)                                  {}
func prefetch3(unsafe.Pointer, unsafe.Pointer, unsafe.Pointer) {}
