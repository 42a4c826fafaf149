package jsonscan

import (
	"bytes"
	"math"
)

// layout is what a Checker records about an object, so that readers need not scan its text a second time. It
// covers two levels: the members of the object, and their members.
type layout struct {
	long    Spans
	repeats bool // an object of these levels may have two members of one name

	metadata bool // the open member is metadata
	from     [layoutLevels]int
	names    [layoutLevels]names
}

const layoutLevels = 2

func (n *layout) begin() { n.long, n.repeats, n.metadata = Spans{}, false, false }

// enter records the start of a value at i. The object itself is on level 0.
func (n *layout) enter(level, i int) {
	if level > 0 {
		n.from[level-1] = i
	}
	if level < layoutLevels {
		n.names[level].count = 0
	}
}

// leave records the end of the last value that was entered on this level. Headers are read from metadata: there
// the inner values are recorded. Other members are recorded as a whole.
func (n *layout) leave(level, i int) {
	if level > 0 && n.metadata == (level == layoutLevels) {
		n.long.add(n.from[level-1], i)
	}
}

// name records the name of a member, b[from:to].
func (n *layout) name(level int, b []byte, from, to int) {
	if level == 1 {
		n.metadata = string(b[from:to]) == "metadata"
	}
	if !n.repeats && n.names[level-1].repeated(b, from, to) {
		n.repeats = true
	}
}

// names are the names of the members of one object, as written. Mostly they are sorted.
type names struct {
	count    int
	at       [32][2]int // spans of the first names
	last     [2]int
	unsorted bool
}

// repeated adds the name b[from:to], and reports whether the object may have had it before.
func (n *names) repeated(b []byte, from, to int) bool {
	name := b[from:to]
	if bytes.IndexByte(name, '\\') >= 0 {
		return true // the same name may be written in another way
	}
	if n.count == 0 {
		n.unsorted = false
	} else if !n.unsorted && bytes.Compare(b[n.last[0]:n.last[1]], name) >= 0 {
		n.unsorted = true
	}
	if n.unsorted {
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

// Spans are the starts and ends of the first six long objects and arrays of a text, in order. None is inside of
// another. With them a [Reader] skips such a value without scanning it.
type Spans [6]span

type span struct{ from, to uint32 }

// minSpan is the least size of a long value. Scanning a shorter one is as fast as a lookup.
const minSpan = 128

func (s *Spans) add(from, to int) {
	if to-from < minSpan || uint64(to) > math.MaxUint32 {
		return
	}
	for i := range s {
		if s[i].to == 0 {
			s[i] = span{uint32(from), uint32(to)}
			return
		}
	}
}

// end returns the end of the value that begins at i; 0 if it is unknown.
func (s *Spans) end(i int) int {
	for _, v := range s {
		if int(v.from) == i {
			return int(v.to)
		}
	}
	return 0
}

// Without returns the spans of the text without the cuts, which are in order.
func (s *Spans) Without(cuts [][2]int) (rest Spans) {
	n, removed := 0, 0
	for _, v := range s {
		for len(cuts) > 0 && cuts[0][1] <= int(v.from) {
			removed += cuts[0][1] - cuts[0][0]
			cuts = cuts[1:]
		}
		if v.to == 0 || len(cuts) > 0 && cuts[0][0] < int(v.to) {
			continue
		}
		rest[n] = span{v.from - uint32(removed), v.to - uint32(removed)}
		n++
	}
	return rest
}
