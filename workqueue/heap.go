package workqueue

// heap is a 4-ary heap of numbers. The least rank comes first; equal ranks come in order of seq.
// It knows the position of each number.
type heap struct {
	items []ranked
	place []uint32 // position in items, for numbers in the heap
}

type ranked struct {
	rank int64
	seq  uint64
	n    number
}

func (r *ranked) before(o *ranked) bool {
	return r.rank < o.rank || r.rank == o.rank && r.seq < o.seq
}

// rank returns the rank of n, which must be in the heap.
func (h *heap) rank(n number) int64 { return h.items[h.place[n]].rank }

// push inserts n, which must not be in the heap.
func (h *heap) push(n number, rank int64, seq uint64) {
	for int(n) >= len(h.place) {
		h.place = append(h.place, 0)
	}
	h.items = append(h.items, ranked{})
	h.up(len(h.items)-1, ranked{rank, seq, n})
}

// remove removes n, which must be in the heap, and returns it.
func (h *heap) remove(n number) ranked {
	i, last := int(h.place[n]), len(h.items)-1
	was, moved := h.items[i], h.items[last]
	h.items = h.items[:last]
	if i < last {
		h.down(i, moved)
		h.up(int(h.place[moved.n]), moved)
	}
	return was
}

func (h *heap) up(i int, r ranked) {
	for i > 0 {
		parent := (i - 1) / 4
		if !r.before(&h.items[parent]) {
			break
		}
		h.put(i, h.items[parent])
		i = parent
	}
	h.put(i, r)
}

func (h *heap) down(i int, r ranked) {
	for {
		child := 4*i + 1
		if child >= len(h.items) {
			break
		}
		four := h.items[child:min(child+4, len(h.items))]
		least := 0
		for k := range four {
			if four[k].before(&four[least]) {
				least = k
			}
		}
		if !four[least].before(&r) {
			break
		}
		h.put(i, four[least])
		i = child + least
	}
	h.put(i, r)
}

func (h *heap) put(i int, r ranked) {
	h.items[i] = r
	h.place[r.n] = uint32(i)
}
