package heap

import (
	"math/rand/v2"
	"testing"
)

func fill(b *testing.B, h *Heap, n, size int) []Ref {
	refs := make([]Ref, n)
	rec := make([]byte, size)
	for i := range refs {
		ref, err := h.Put(rec)
		if err != nil {
			b.Fatal(err)
		}
		refs[i] = ref
	}
	return refs
}

// BenchmarkReplace puts a record and frees another, at random among 100,000: with all the
// compaction that this costs.
func BenchmarkReplace(b *testing.B) {
	h := New(Options{})
	defer h.Close()
	refs := fill(b, h, 100_000, 250)
	rec := make([]byte, 250)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		i := rand.IntN(len(refs))
		h.Free(refs[i])
		refs[i], _ = h.Put(rec)
	}
	s := h.Stats()
	b.ReportMetric(float64(s.Held)/float64(s.Live), "held/live")
}

func BenchmarkBytes(b *testing.B) {
	h := New(Options{})
	defer h.Close()
	refs := fill(b, h, 100_000, 250)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			g := h.Pin()
			if len(h.Bytes(refs[rand.IntN(len(refs))])) != 250 {
				b.Error("another record")
			}
			g.Release()
		}
	})
}

// BenchmarkStep is one step while nine of ten records go.
func BenchmarkStep(b *testing.B) {
	var h *Heap
	b.ReportAllocs()
	for b.Loop() {
		if h == nil || !h.Step(0) {
			b.StopTimer()
			if h != nil {
				h.Close()
			}
			h = New(Options{})
			refs := fill(b, h, 200_000, 250)
			hold := h.Hold()
			for i, ref := range refs {
				if i%10 != 0 {
					h.Free(ref)
				}
			}
			hold.Release()
			b.StartTimer()
		}
	}
	h.Close()
}
