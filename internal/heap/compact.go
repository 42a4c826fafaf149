package heap

const (
	// perByte is how many bytes compaction may copy for each byte that was put or freed. If a fifth
	// of a chunk is dead, compaction copies four bytes for each one that it frees.
	perByte = 4
	// perVisit is the cost of visiting a record, in bytes copied.
	perVisit = 128
	// minStep is the least work in bytes of a step beside writes. A larger step changes fewer nodes
	// of the owner's tables for each record. maxStep keeps the pause below a millisecond or two.
	minStep, maxStep = 128 << 10, 1 << 20
	// slack is an amount of dead bytes that is never compacted.
	slack = 16 << 10
)

// Owner holds the places of records. Compaction changes its next version.
type Owner interface {
	// Place returns the place of the record with a tag; 0 if there is none.
	Place(tag uint32) Place
	// Move sets the new place of a record.
	Move(tag uint32, to Place)
}

// Tidy runs the compaction that recent writes pay for, if a fifth of the heap is dead. Call it
// before each new version, after Free of superseded records. It copies at most a megabyte.
func (h *Heap) Tidy(o Owner) {
	switch {
	case h.victim < 0 && !h.wasteful(4):
		h.debt = 0
	case h.debt >= minStep:
		step := min(h.debt, maxStep)
		h.debt -= step
		h.compact(o, int(step), 4)
	}
}

// Compact copies about the given number of bytes, if a tenth of the heap is dead. Call it while nothing is
// written. It reports whether there is more to do.
func (h *Heap) Compact(o Owner, bytes int) (more bool) {
	return h.compact(o, bytes, 9) && h.Wasteful()
}

// Wasteful reports whether Compact has something to do.
func (h *Heap) Wasteful() bool { return h.victim >= 0 || h.wasteful(9) }

// wasteful reports whether the dead bytes exceed the live ones divided by share, and slack.
func (h *Heap) wasteful(share int64) bool { return h.used-h.live > max(h.live/share, slack) }

// compact runs until the budget is spent or the waste is gone. It returns false if the heap is
// full.
func (h *Heap) compact(o Owner, budget int, share int64) (ok bool) {
	for budget > 0 {
		if h.victim < 0 {
			if !h.wasteful(share) {
				return true
			}
			h.pick()
		}
		v := h.victim
		if h.victimAt == h.usages[v].used {
			h.drop(v)
			continue
		}
		chunk := h.chunks[v]
		tag, n := chunk.head(h.victimAt)
		from := Place(v<<offsetBits | (h.victimAt+head)/unit)
		h.victimAt += size(n)
		budget -= perVisit
		if o.Place(tag) != from {
			continue
		}
		to, err := h.Put(tag, chunk.record(from))
		if err != nil {
			h.victim = -1 // no room: the chunk stays
			return false
		}
		h.debt -= 2 * perByte * int64(size(n)) // compaction's own writes do not pay for more compaction
		o.Move(tag, to)
		h.Free(from)
		budget -= n
	}
	return true
}

// pick chooses the chunk with the largest share of dead bytes as the victim. One exists.
func (h *Heap) pick() {
	best := 0.0
	for i, b := range h.usages {
		if dead := float64(b.used-b.live) / float64(max(b.used, 1)); dead > best {
			best, h.victim = dead, i
		}
	}
	h.victimAt = 0
	if h.current == h.victim {
		h.current = -1
	}
}
