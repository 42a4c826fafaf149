package jsonscan

import (
	"bytes"
	"math"
)

// notes are what a Checker finds out about an object on the way, to spare another pass over its text.
// They are of two levels: the members of the object, and the members of those.
type notes struct {
	long    Spans
	repeats bool // an object of these levels may have two members of one name

	metadata bool // the open member is metadata
	from     [notedLevels]int
	names    [notedLevels]names
}

const notedLevels = 2

func (n *notes) begin() { n.long, n.repeats, n.metadata = Spans{}, false, false }

// enter notes that a value begins at i: the object itself is on level 0.
func (n *notes) enter(level, i int) {
	if level > 0 {
		n.from[level-1] = i
	}
	if level < notedLevels {
		n.names[level].count = 0
	}
}

// leave notes the end of the last value that was entered on this level. Headers are read from
// metadata, so there the values inside are noted. Other members are passed over as a whole.
func (n *notes) leave(level, i int) {
	if level > 0 && n.metadata == (level == notedLevels) {
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

// Spans are where long objects and arrays of a text begin and end, in their order. None is inside of
// another. There is room for the first six. They spare a [Reader] the way to the end of a value.
type Spans [6]span

type span struct{ from, to uint32 }

// leastSpan is the size from which a value is long: the end of a shorter one is found as fast.
const leastSpan = 128

func (s *Spans) add(from, to int) {
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

// end returns where the value ends that begins at i; 0 if that is not known.
func (s *Spans) end(i int) int {
	for _, v := range s {
		if int(v.from) == i {
			return int(v.to)
		}
	}
	return 0
}

// Without returns the spans of the text after parts of it, in order, have been cut out.
func (s *Spans) Without(cuts [][2]int) (left Spans) {
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
