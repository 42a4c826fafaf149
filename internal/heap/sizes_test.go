package heap

import (
	"fmt"
	"testing"
)

// The memory of a heap is in proportion to its records, whatever size they have, in the Go heap and outside.
func TestRecordsOfEachSizeWasteLittle(t *testing.T) {
	const total, most = 64 << 20, 1.35
	for _, goHeap := range []bool{true, false} {
		for _, n := range []int{100, 4 << 10, 20 << 10, 100 << 10, 200 << 10, 256<<10 - 8, 256 << 10, 300 << 10, 600 << 10, 1<<20 - 8, 1 << 20, 3 << 20} {
			t.Run(fmt.Sprintf("%d/goheap=%v", n, goHeap), func(t *testing.T) {
				h, b := New(Options{GoHeap: goHeap}), make([]byte, n)
				for i := range total / n {
					if _, err := h.Put(uint32(i), b); err != nil {
						t.Fatal(err)
					}
				}
				s := h.Stats()
				if waste := float64(s.Held) / float64(s.Live); waste > most {
					t.Errorf("%d MB of records are held as %d MB", s.Live>>20, s.Held>>20)
				}
			})
		}
	}
}
