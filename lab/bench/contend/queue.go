package contend

import (
	"fmt"
	"slices"

	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/object"
)

// queue sends n keys through the library's queue, size at a time. It does so five times, with a new
// queue each, and reports the median.
func (h *held) queue(arg string, r *Report) error {
	var n, size int
	if _, err := fmt.Sscan(arg, &n, &size); err != nil {
		return err
	}
	keys := make([]object.Key, n)
	for i := range keys {
		keys[i] = object.Key{Namespace: fmt.Sprintf("team-%03d", i%50), Name: fmt.Sprintf("app-%04d-5d7c9b8f6d-%05x", i%5000, i)}
	}
	var all []float64
	for range 5 {
		q, err := h.library.NewQueue()
		if err != nil {
			return err
		}
		before := used().CPU
		fill(q, keys, size)
		q.Take(len(keys))
		all = append(all, 1e9*(used().CPU-before)/float64(n))
	}
	slices.Sort(all)
	r.NS = all[len(all)/2]
	return nil
}

// fill adds keys, size of them at a time if the queue supports that.
func fill(q contender.Queue, keys []object.Key, size int) {
	if q, can := q.(contender.Together); can && size > 1 {
		for some := range slices.Chunk(keys, size) {
			q.AddAll(some)
		}
		return
	}
	for i, k := range keys {
		q.Add(k, i%2 == 0)
	}
}
