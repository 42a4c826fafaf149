package cow

import "slices"

const (
	maxNode = 64
	minNode = 16
)

// Tree is a sorted list of numbers. The caller knows what the numbers stand for, and so their
// order: it supplies a [Probe]. The zero Tree is empty.
type Tree struct {
	root *node
	n    uint32
	one  uint32 // the number of a Tree of one, which needs no node
}

// Probe compares the thing that id stands for to the sought one: negative if it comes before, zero
// if equal, positive if it comes behind.
type Probe func(id uint32) int

// node is a leaf or a branch. In a branch ids[i] is the first number below kids[i].
type node struct {
	owner *Owner
	ids   []uint32
	kids  []*node
}

// Len is the number of numbers.
func (t *Tree) Len() int { return int(t.n) }

// floor returns the index of the last id at or before the sought one; -1 if there is none. same
// reports equality.
func (n *node) floor(p Probe) (at int, same bool) {
	lo, hi := 0, len(n.ids)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch c := p(n.ids[mid]); {
		case c == 0:
			return mid, true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return lo - 1, false
}

// Get returns the sought number.
func (t *Tree) Get(p Probe) (uint32, bool) {
	n := t.root
	if n == nil {
		return t.one, t.n == 1 && p(t.one) == 0
	}
	if p(t.last()) < 0 {
		return 0, false
	}
	for {
		at, same := n.floor(p)
		if same {
			return n.ids[at], true
		}
		if n.kids == nil || at < 0 {
			return 0, false
		}
		n = n.kids[at]
	}
}

// last returns the last number of a tree that is not empty.
func (t *Tree) last() uint32 {
	n := t.root
	for n.kids != nil {
		n = n.kids[len(n.kids)-1]
	}
	return n.ids[len(n.ids)-1]
}

// owned returns a node that o may change.
func (n *node) owned(o *Owner) *node {
	if n.owner == o {
		return n
	}
	c := &node{owner: o, ids: append(make([]uint32, 0, capacityFor(len(n.ids))), n.ids...)}
	if n.kids != nil {
		c.kids = append(make([]*node, 0, capacityFor(len(n.ids))), n.kids...)
	}
	return c
}

// capacityFor is the capacity of a node of n items: a little more, in few sizes.
func capacityFor(n int) int {
	switch {
	case n < 4:
		return 4
	case n < 16:
		return 16
	case n < 32:
		return 32
	}
	return maxNode
}

// Insert adds id at the position that p gives; p must compare to the thing that id stands for. An
// id with an equal key is replaced.
func (t *Tree) Insert(o *Owner, id uint32, p Probe) {
	if t.root == nil {
		if t.n == 0 || p(t.one) == 0 {
			t.n, t.one = 1, id
			return
		}
		t.root = &node{owner: o, ids: append(make([]uint32, 0, capacityFor(2)), t.one)}
	}
	root, right, added := t.root.insert(o, id, p, true)
	if right != nil {
		root = &node{owner: o, ids: []uint32{root.ids[0], right.ids[0]}, kids: []*node{root, right}}
	}
	t.root = root
	if added {
		t.n++
	}
}

// Append adds id behind all others; the thing it stands for must come last.
func (t *Tree) Append(o *Owner, id uint32) { t.Insert(o, id, func(uint32) int { return -1 }) }

// insert returns the node in place of n, and its new right sibling if n was full. last says that n
// has no right neighbour.
func (n *node) insert(o *Owner, id uint32, p Probe, last bool) (self, right *node, added bool) {
	at, same := len(n.ids)-1, false
	if !last || p(n.ids[at]) >= 0 { // sorted input goes to the end
		at, same = n.floor(p)
	}
	n = n.owned(o)
	if n.kids == nil {
		if same {
			n.ids[at] = id
			return n, nil, false
		}
		n.ids = insertAt(n.ids, at+1, id)
		return n, n.split(last && at+2 == len(n.ids)), true
	}
	at = max(at, 0)
	kid, right, added := n.kids[at].insert(o, id, p, last && at+1 == len(n.kids))
	n.kids[at], n.ids[at] = kid, kid.ids[0]
	if right != nil {
		n.ids = insertAt(n.ids, at+1, right.ids[0])
		n.kids = insertAt(n.kids, at+1, right)
	}
	return n, n.split(last && at+2 == len(n.ids)), added
}

// insertAt is slices.Insert with the capacities of capacityFor.
func insertAt[T any](s []T, at int, v T) []T {
	if len(s) == cap(s) {
		s = append(make([]T, 0, capacityFor(len(s)+1)), s...)
	}
	s = append(s, v)
	copy(s[at+1:], s[at:])
	s[at] = v
	return s
}

// split moves half of a full node into a new right sibling. If the last insertion was at the very
// end, as with sorted input, the node stays nearly full.
func (n *node) split(atEnd bool) *node {
	if len(n.ids) < maxNode {
		return nil
	}
	at := maxNode / 2
	if atEnd {
		at = maxNode - 1
	}
	right := &node{owner: n.owner, ids: append(make([]uint32, 0, capacityFor(len(n.ids)-at)), n.ids[at:]...)}
	n.ids = n.ids[:at]
	if n.kids != nil {
		right.kids = append(make([]*node, 0, capacityFor(len(n.kids)-at)), n.kids[at:]...)
		clear(n.kids[at:])
		n.kids = n.kids[:at]
	}
	return right
}

// Delete removes the sought number, and reports whether it was there.
func (t *Tree) Delete(o *Owner, p Probe) bool {
	if _, ok := t.Get(p); !ok {
		return false
	}
	if t.root == nil {
		t.n = 0
		return true
	}
	t.root = t.root.delete(o, p)
	for len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
	}
	if t.n--; t.n == 1 {
		t.root, t.one = nil, t.root.ids[0]
	}
	return true
}

// delete removes an existing number. The returned node may be empty.
func (n *node) delete(o *Owner, p Probe) *node {
	at, _ := n.floor(p)
	n = n.owned(o)
	if n.kids == nil {
		n.ids = slices.Delete(n.ids, at, at+1)
		return n
	}
	kid := n.kids[at].delete(o, p)
	if len(kid.ids) == 0 {
		n.ids, n.kids = slices.Delete(n.ids, at, at+1), slices.Delete(n.kids, at, at+1)
		return n
	}
	n.kids[at], n.ids[at] = kid, kid.ids[0]
	if len(kid.ids) < minNode {
		n.join(o, at)
	}
	return n
}

// join merges the kid at an index with the next one, or the previous one, if they fit.
func (n *node) join(o *Owner, at int) {
	if at+1 == len(n.kids) {
		at--
	}
	if at < 0 {
		return
	}
	left, right := n.kids[at], n.kids[at+1]
	if len(left.ids)+len(right.ids) > maxNode*3/4 {
		return
	}
	left = left.owned(o)
	left.ids = append(left.ids, right.ids...)
	if left.kids != nil {
		left.kids = append(left.kids, right.kids...)
	}
	n.kids[at] = left
	n.ids, n.kids = slices.Delete(n.ids, at+1, at+2), slices.Delete(n.kids, at+1, at+2)
}
