package wire

import (
	"bytes"
	"fmt"
	"math"
)

// notes are what a grammar finds out about an object on the way, and what would take another pass
// over its text otherwise. They are of the upper levels only: 1 is that of the members of the object,
// 2 that of their members.
type notes struct {
	long spans
	// repeats says that on one of these levels an object may have two members of one name.
	repeats bool

	metadata bool // the member that is open is the metadata
	from     [noted]int
	names    [noted]names
}

// noted is how many levels there are notes of.
const noted = 2

func (n *notes) begin() { n.long, n.repeats, n.metadata = spans{}, false, false }

// enter notes that a value begins at i: the object itself is on level 0.
func (n *notes) enter(level, i int) {
	if level > 0 {
		n.from[level-1] = i
	}
	if level < noted {
		n.names[level].count = 0
	}
}

// leave notes that the value ends that was entered last of this level. Of the members of the object
// the metadata is looked into later, and of the others nobody needs more than the end.
func (n *notes) leave(level, i int) {
	if level > 0 && n.metadata == (level == noted) {
		n.long.add(n.from[level-1], i)
	}
}

// name notes the name of a member, b[from:to].
func (n *notes) name(level int, b []byte, from, to int) {
	if level == 1 {
		n.metadata = string(b[from:to]) == "metadata"
	}
	if !n.repeats && n.names[level-1].repeated(b, from, to) {
		n.repeats = true
	}
}

// names are those of the members of one object, as they are written. Mostly they come in order.
type names struct {
	count    int
	at       [32][2]int // of the first
	last     [2]int
	shuffled bool
}

// repeated adds the name b[from:to], and reports whether it may have come before.
func (n *names) repeated(b []byte, from, to int) bool {
	name := b[from:to]
	if bytes.IndexByte(name, '\\') >= 0 {
		return true // there is another way to write it
	}
	if n.count == 0 {
		n.shuffled = false
	} else if !n.shuffled && bytes.Compare(b[n.last[0]:n.last[1]], name) >= 0 {
		n.shuffled = true
	}
	if n.shuffled {
		if n.count > len(n.at) {
			return true
		}
		for _, at := range n.at[:n.count] {
			if bytes.Equal(b[at[0]:at[1]], name) {
				return true
			}
		}
	}
	n.last = [2]int{from, to}
	if n.count < len(n.at) {
		n.at[n.count] = n.last
	}
	n.count++
	return false
}

// check is r of which it is known that the bytes are one JSON value, with space around it, or the
// error that they are none.
func (r Raw) check() (Raw, error) {
	if r.checked {
		return r, nil
	}
	var g grammar
	g.begin(0, true)
	i, err := g.read(r.Bytes, 0, 0, true)
	switch {
	case err != nil:
		return r, fmt.Errorf("at byte %d: %w", i, err)
	case g.at != atEnd:
		return r, errCut
	case skipSpace(r.Bytes, i) < len(r.Bytes):
		return r, errMore
	}
	return r.known(&g.notes), nil
}

// known is r of which a grammar has taken notes.
func (r Raw) known(n *notes) Raw {
	r.checked, r.long = true, n.long
	if n.repeats && r.Kind != nil {
		r.Kind.repeats.Store(true)
	}
	return r
}

// distinct reports whether it is known that no two members of the object have one name, and no two
// members of such a member. What an object from a store holds was read before: see [Raw.Checked].
func (r Raw) distinct() bool { return r.checked && r.Kind != nil && !r.Kind.repeats.Load() }

// spans are where long values of a text begin and end: objects and arrays, none inside of another, in
// their order, as many as there is room for. They spare whoever passes over a value to look for its
// end.
type spans [6]span

type span struct{ from, to uint32 }

// leastSpan is the size from which a value is long: the end of a shorter one is found as fast.
const leastSpan = 128

func (s *spans) add(from, to int) {
	if to-from < leastSpan || uint64(to) > math.MaxUint32 {
		return
	}
	for i := range s {
		if s[i].to == 0 {
			s[i] = span{uint32(from), uint32(to)}
			return
		}
	}
}

// end is where the value ends that begins at i; 0 if that is not known.
func (s *spans) end(i int) int {
	for _, v := range s {
		if int(v.from) == i {
			return int(v.to)
		}
	}
	return 0
}

// without is s when parts of the text, in order, have been cut out of it.
func (s *spans) without(cuts [][2]int) (left spans) {
	n, gone := 0, 0
	for _, v := range s {
		for len(cuts) > 0 && cuts[0][1] <= int(v.from) {
			gone += cuts[0][1] - cuts[0][0]
			cuts = cuts[1:]
		}
		if v.to == 0 || len(cuts) > 0 && cuts[0][0] < int(v.to) {
			continue
		}
		left[n] = span{v.from - uint32(gone), v.to - uint32(gone)}
		n++
	}
	return left
}
