package heaptest_test

import (
	"runtime"
	"testing"

	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/internal/heap/heaptest"
	"github.com/flyball-io/flyball/internal/tier"
)

func TestBothKindsOfMemoryAreSeen(t *testing.T) {
	tier.Audit(t, "measures the heap")
	const size = 8 << 20
	record := make([]byte, 1<<10)
	for name, o := range map[string]heap.Options{"outside the Go heap": {}, "Go memory": {GoHeap: true}} {
		t.Run(name, func(t *testing.T) {
			before := heaptest.Live()
			peak := heaptest.WatchPeak()
			h := heap.New(o)
			for range size / len(record) {
				if _, err := h.Put(0, record); err != nil {
					t.Fatal(err)
				}
			}
			if grown := heaptest.Live() - before; grown < size || grown > size*5/4 {
				t.Errorf("%d bytes for %d", grown, size)
			}
			most := peak.End()
			runtime.KeepAlive(h)
			if grown := heaptest.Live() - before; grown > size/8 {
				t.Errorf("%d bytes are left", grown)
			}
			if most-before < size {
				t.Errorf("the peak is %d", most-before)
			}
		})
	}
}
