package heap

import (
	"bytes"
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

// A record that fills its chunk to the last byte has its place in it, however short it is.
func TestLastRecordOfAChunk(t *testing.T) {
	for n := range 3 * unit {
		h, is := New(Options{}), places{}
		put := func(b []byte) Place {
			tag := uint32(len(is) + 1)
			mustPut(t, h, is, tag, b)
			return is[tag]
		}
		for h.Stats().Used < 8*maxChunk { // then chunks have the full size
			put(make([]byte, 1000))
		}
		left := func() int { return len(h.chunks[h.current].mem) - h.usages[h.current].used - size(n) }
		for left() != 0 {
			switch {
			case left() < 2*unit || left() > 2000: // another chunk, or much room
				put(make([]byte, 1000))
			case left()%(2*unit) != 0:
				put(make([]byte, 2*unit))
			default:
				put(make([]byte, unit))
			}
		}
		in, b := h.current, bytes.Repeat([]byte{7}, n)
		at := put(b)
		if i := int(at >> offsetBits); i != in {
			t.Fatalf("%d bytes: the place is in chunk %d, want %d", n, i, in)
		}
		if got := read(h.Chunks(), at); !bytes.Equal(got, b) {
			t.Errorf("%d bytes: %x", n, got)
		}
		is.free(h, uint32(len(is)))
	}
}
