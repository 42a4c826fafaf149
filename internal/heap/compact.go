package heap

const (
	// perByte is how many bytes compaction may copy for each that was put or freed. If a fifth of a
	// chunk is dead, compaction copies four bytes of it for each that it frees.
	perByte = 4
	// perVisit is what looking at a record costs, in bytes copied.
	perVisit = 128
	// minStep are the bytes of a step beside writes. One that is larger changes fewer nodes of the
	// owner's tables for each record. maxStep keeps the pause below a millisecond or two.
	minStep, maxStep = 128 << 10, 1 << 20
	// slack of dead bytes is left alone however little is alive.
	slack = 16 << 10
)

// Owner has the places of records. Its version to come is changed by compaction.
type Owner interface {
	// Place is that of the record with a tag; 0 if there is none.
	Place(tag uint32) Place
	// Move notes another one.
	Move(tag uint32, to Place)
}

// Tidy does the compaction that what was written since pays for, if a fifth of all is dead. Call it
// before a version is made, when what it does not name is freed. It copies at most a megabyte.
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

// Compact copies about so many bytes if a tenth of all is dead. It is for when nothing is written. It
// reports whether there is more to do.
func (h *Heap) Compact(o Owner, bytes int) (more bool) {
	return h.compact(o, bytes, 9) && h.Wasteful()
}

// Wasteful reports whether there is something to do for Compact.
func (h *Heap) Wasteful() bool { return h.victim >= 0 || h.wasteful(9) }

// wasteful reports whether a share of what is alive is dead.
func (h *Heap) wasteful(share int64) bool { return h.used-h.live > max(h.live/share, slack) }

// compact reports whether it could do what there was to do.
func (h *Heap) compact(o Owner, budget int, share int64) (ok bool) {
	for budget > 0 {
		if h.victim < 0 {
			if !h.wasteful(share) {
				return true
			}
			h.pick()
		}
		v := h.victim
		if h.at == h.books[v].used {
			h.drop(v)
			continue
		}
		chunk := h.chunks[v]
		tag, n := chunk.head(h.at)
		from := Place(v<<offsetBits | (h.at+head)/unit)
		h.at += size(n)
		budget -= perVisit
		if o.Place(tag) != from {
			continue
		}
		to, err := h.Put(tag, chunk.record(from))
		if err != nil {
			h.victim = -1 // no room: the chunk stays
			return false
		}
		h.debt -= 2 * perByte * int64(size(n)) // what compaction does pays for nothing
		o.Move(tag, to)
		h.Free(from)
		budget -= n
	}
	return true
}

// pick makes the chunk with the largest share of dead bytes the victim. There is one.
func (h *Heap) pick() {
	best := 0.0
	for i, b := range h.books {
		if dead := float64(b.used-b.live) / float64(max(b.used, 1)); dead > best {
			best, h.victim = dead, i
		}
	}
	h.at = 0
	if h.fill == h.victim {
		h.fill = -1
	}
}
