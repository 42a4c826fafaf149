package heap_test

import (
	"fmt"

	"github.com/flyball-io/flyball/internal/heap"
)

// How does a reader see a record that the writer frees meanwhile?
func ExampleHeap_Hold() {
	h := heap.New(heap.Options{})
	defer h.Close()
	ref, err := h.Put([]byte("first"))
	if err != nil {
		fmt.Println(err)
		return
	}

	hold := h.Hold() // then load the snapshot, which has ref
	h.Free(ref)      // the writer has another one now

	pin := h.Pin()
	fmt.Printf("%s\n", h.Bytes(ref))
	pin.Release()
	hold.Release()
	for h.Step(0) {
	}
	fmt.Println(h.Stats().Records, h.Stats().Waiting)
	// Output:
	// first
	// 0 0
}
