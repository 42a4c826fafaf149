package heap

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// resident is the memory of this process, in bytes.
func resident(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var all, rss int
	if _, err := fmt.Sscan(string(b), &all, &rss); err != nil {
		t.Fatal(err)
	}
	return rss * os.Getpagesize()
}

// TestSystemGetsMemoryBack asks the system, not the heap.
func TestSystemGetsMemoryBack(t *testing.T) {
	const n, bytes = 2000, 64_000 // 128 MB
	h := New(Options{})
	defer h.Close()
	var refs []Ref
	b := make([]byte, bytes)
	for i := range b {
		b[i] = 1
	}
	debug.FreeOSMemory() // what other tests left is not to go while we look
	before := resident(t)
	for range n {
		refs = append(refs, put(t, h, b))
	}
	full := resident(t)
	if full-before < n*bytes/2 {
		t.Errorf("%d bytes more are resident, want %d", full-before, n*bytes)
	}
	for i, ref := range refs {
		if i%10 != 0 {
			h.Free(ref)
		}
	}
	settle(t, h)
	if after := resident(t); after-before > n*bytes/4 {
		t.Errorf("of %d bytes %d are resident: %+v", full-before, after-before, h.Stats())
	}
}

// TestDroppedHeap: a heap that nobody has any more gives its mappings back.
func TestDroppedHeap(t *testing.T) {
	h := New(Options{})
	put(t, h, []byte("x"))
	s := h.space
	h = nil
	for s.reserved.Load() != 0 {
		runtime.GC()
	}
}
