package heap

import "encoding/binary"

const (
	maxStep  = 32 << 10 // bytes copied in one step
	perVisit = 128      // what looking at a record costs, in bytes copied
	// maxDiscard is how many bytes are given back in one step: it takes longer than to copy them.
	maxDiscard = 256 << 10
	// slackBytes of dead records are left alone however little is alive.
	slackBytes = 64 << 10
)

// cleaner moves what is alive out of one chunk after the other.
type cleaner struct {
	idle    bool // it is the work of Step
	victim  int  // -1: none
	at      int  // where the next record begins in it
	copying bool
	to      uint32 // the place that the record at hand is copied to
	copied  int    // bytes of it

	retired []retiree // the oldest first
}

type retiree struct {
	chunk     int
	pin       uint32
	discarded int // bytes from its beginning that the system has back
}

// tidy is done at each Put and Free of n bytes. Each byte that dies pays for four that are copied:
// a chunk is cleaned when at least a fifth of it is dead.
func (h *Heap) tidy(n int) {
	h.ops++
	if h.ops%16 == 0 {
		h.pins.advance()
		h.holds.advance()
	}
	h.step(min(4*size(n)+2*perVisit, maxStep))
}

// Step does what compaction there is to do, in one step of some 25 µs: it copies no more than max
// bytes, 32 kB if max is zero, or gives a quarter of a chunk back. It reports whether there is more
// to do at once; what waits for readers is not counted. Call it when nothing is written for a while,
// until it returns false, and again later as long as Stats has bytes that wait.
func (h *Heap) Step(max int) (more bool) {
	if h.closed {
		return false
	}
	if max <= 0 || max > maxStep {
		max = maxStep
	}
	h.clean.idle = true
	defer func() { h.clean.idle = false }()
	h.advance()
	h.step(max)
	h.advance()
	return h.held.ripe(h.holds) || h.seen.ripe(h.pins) || h.over() || h.clean.victim >= 0 || h.wasteful()
}

// advance goes as far as readers let it for what was pushed before.
func (h *Heap) advance() {
	for range 2 {
		h.pins.advance()
		h.holds.advance()
	}
}

func (h *Heap) step(budget int) {
	most := 16 + budget/perVisit
	for n := 0; n < most && h.held.ripe(h.holds); n++ {
		h.seen.push(h.held.pop(), h.pins)
	}
	for n := 0; n < most && h.seen.ripe(h.pins); n++ {
		h.kill(h.seen.pop())
	}
	if h.over() {
		if r := &h.clean.retired[0]; !h.shrink(r) {
			h.release(r.chunk, r.discarded)
			h.clean.retired = h.clean.retired[1:]
		}
		return
	}
	h.evacuate(budget)
}

// over reports whether nobody reads the first retired chunk any more.
func (h *Heap) over() bool {
	return len(h.clean.retired) > 0 && h.pins.gone(h.clean.retired[0].pin)
}

// kill makes the bytes of a record dead and its name free.
func (h *Heap) kill(ref Ref) {
	if !h.known(ref) {
		return
	}
	place := h.slot(ref).Load()
	b := h.at(place)
	n := size(len(b))
	if h.o.Poison {
		for i := range b {
			b[i] = poison
		}
	}
	h.stats.waiting.Add(-int64(n))
	h.slot(ref).Store(h.free | freeBit)
	h.free = uint32(ref)
	h.count(place, -n)
}

// count adds n to the live bytes of the chunk of a place.
func (h *Heap) count(place uint32, n int) {
	i := int(place / chunkUnit)
	c := &h.chunks[i]
	c.live += n
	h.live += n
	if c.live == 0 && c.state == sealed {
		h.retire(i)
	}
}

func (h *Heap) retire(i int) {
	c := &h.chunks[i]
	c.state = retired
	h.used -= c.used
	h.stats.retired.Add(int64(pages(c.used)))
	h.clean.retired = append(h.clean.retired, retiree{chunk: i, pin: h.pins.now.Load()})
}

// wasteful reports whether so much is dead that cleaning pays: a fifth while something is written,
// half of that when there is nothing else to do.
func (h *Heap) wasteful() bool {
	share := 4
	if h.clean.idle {
		share = 9
	}
	return h.used-h.live > max(h.live/share, slackBytes)
}

// pick is the chunk of which the largest part is dead; -1 for none.
func (h *Heap) pick() int {
	best, bestDead, bestUsed := -1, 0, 1
	for i := range h.chunks {
		c := &h.chunks[i]
		if c.state != sealed && c.state != filling {
			continue
		}
		if d := c.used - c.live; d*bestUsed > bestDead*c.used {
			best, bestDead, bestUsed = i, d, c.used
		}
	}
	return best
}

// evacuate copies about so many bytes out of the victim, or the next ones.
func (h *Heap) evacuate(budget int) {
	v := &h.clean
	for budget > 0 {
		if v.victim < 0 {
			if !h.wasteful() {
				return
			}
			if v.victim = h.pick(); v.victim < 0 {
				return
			}
			for which, i := range h.fill {
				if i == v.victim {
					h.seal(which)
				}
			}
			h.chunks[v.victim].state = leaving
			v.at = 0
		}
		if c := &h.chunks[v.victim]; !v.copying && (c.live == 0 || v.at == c.used) {
			h.retire(v.victim)
			v.victim = -1
			return // the rest is for the next step
		}
		n, ok := h.move(budget)
		if !ok {
			return
		}
		budget -= n
	}
}

// move copies at most so many bytes of the record at hand, and goes to the next when it is done. It
// returns what that cost; not ok: there is no room.
func (h *Heap) move(budget int) (cost int, ok bool) {
	v := &h.clean
	mem := h.chunks[v.victim].mem
	ref, n := Ref(binary.LittleEndian.Uint32(mem[v.at:])), int(binary.LittleEndian.Uint32(mem[v.at+4:]))
	from := uint32(v.victim*chunkUnit + (v.at+head)/unit)
	if h.slot(ref).Load() != from { // it is dead, or has just died
		if v.copying {
			v.copying = false
			h.count(v.to, -size(n))
		}
		v.at += size(n)
		return perVisit, true
	}
	if !v.copying {
		if v.to, ok = h.reserve(1, ref, n); !ok {
			return 0, false
		}
		h.count(v.to, size(n))
		v.copying, v.copied = true, 0
	}
	k := min(budget, n-v.copied)
	copy(h.at(v.to)[v.copied:], record(mem, from)[v.copied:v.copied+k])
	if v.copied += k; v.copied == n {
		h.slot(ref).Store(v.to)
		v.copying = false
		h.count(from, -size(n))
		v.at += size(n)
	}
	return k + perVisit, true
}
