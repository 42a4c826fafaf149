package cow

import "slices"

const (
	maxNode = 64
	minNode = 16
)

// Tree is a sorted list of numbers. What they stand for, and so their order, is known to the
// caller: it is asked by a [Probe]. The zero Tree is empty.
type Tree struct {
	root *node
	n    int
}

// Probe says how what id stands for compares to what is sought: negative if it comes before, zero if
// it is that, positive if it comes behind.
type Probe func(id uint32) int

// node is a leaf, or a branch: then ids[i] is the first number below kids[i].
type node struct {
	owner *Owner
	ids   []uint32
	kids  []*node
}

// Len is how many numbers there are.
func (t *Tree) Len() int { return t.n }

// floor is the place of the last id that is not behind what is sought; -1 if all are. same says
// that it is that.
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

// Get finds what is sought.
func (t *Tree) Get(p Probe) (uint32, bool) {
	n := t.root
	if n == nil || p(t.last()) < 0 {
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

// last is the last number of a tree that has one.
func (t *Tree) last() uint32 {
	n := t.root
	for n.kids != nil {
		n = n.kids[len(n.kids)-1]
	}
	return n.ids[len(n.ids)-1]
}

// own returns a node that o may change.
func (n *node) own(o *Owner) *node {
	if n.owner == o {
		return n
	}
	c := &node{owner: o, ids: append(make([]uint32, 0, room(len(n.ids))), n.ids...)}
	if n.kids != nil {
		c.kids = append(make([]*node, 0, room(len(n.ids))), n.kids...)
	}
	return c
}

// room is the capacity of a node of n items: some more, in few sizes.
func room(n int) int {
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

// Insert adds id where p, which must compare to what id stands for, says. What is there under an
// equal key is replaced.
func (t *Tree) Insert(o *Owner, id uint32, p Probe) {
	if t.root == nil {
		t.root, t.n = &node{owner: o, ids: []uint32{id}}, 1
		return
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

// Append adds id, which stands for what comes behind all that is there.
func (t *Tree) Append(o *Owner, id uint32) { t.Insert(o, id, func(uint32) int { return -1 }) }

// insert returns the node that stands for n, and one that stands right of it if it was full. last
// says that nothing stands right of n.
func (n *node) insert(o *Owner, id uint32, p Probe, last bool) (self, right *node, added bool) {
	at, same := len(n.ids)-1, false
	if !last || p(n.ids[at]) >= 0 { // what comes sorted goes to the end
		at, same = n.floor(p)
	}
	n = n.own(o)
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

// insertAt is slices.Insert with the capacities of room.
func insertAt[T any](s []T, at int, v T) []T {
	if len(s) == cap(s) {
		s = append(make([]T, 0, room(len(s)+1)), s...)
	}
	s = append(s, v)
	copy(s[at+1:], s[at:])
	s[at] = v
	return s
}

// split takes half of a full node away, into one that stands right of it. If what filled it came at
// the very end, as from a sorted list, the node stays nearly full.
func (n *node) split(atEnd bool) *node {
	if len(n.ids) < maxNode {
		return nil
	}
	at := maxNode / 2
	if atEnd {
		at = maxNode - 1
	}
	right := &node{owner: n.owner, ids: append(make([]uint32, 0, room(len(n.ids)-at)), n.ids[at:]...)}
	n.ids = n.ids[:at]
	if n.kids != nil {
		right.kids = append(make([]*node, 0, room(len(n.kids)-at)), n.kids[at:]...)
		clear(n.kids[at:])
		n.kids = n.kids[:at]
	}
	return right
}

// Delete takes out what is sought, and reports whether it was there.
func (t *Tree) Delete(o *Owner, p Probe) bool {
	if _, ok := t.Get(p); !ok {
		return false
	}
	t.root = t.root.delete(o, p)
	for len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
	}
	if t.n--; t.n == 0 {
		t.root = nil
	}
	return true
}

// delete takes out what is there. The node returned may be empty.
func (n *node) delete(o *Owner, p Probe) *node {
	at, _ := n.floor(p)
	n = n.own(o)
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

// join makes one of the kid at a place and the next, or the one before, if they fit.
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
	left = left.own(o)
	left.ids = append(left.ids, right.ids...)
	if left.kids != nil {
		left.kids = append(left.kids, right.kids...)
	}
	n.kids[at] = left
	n.ids, n.kids = slices.Delete(n.ids, at+1, at+2), slices.Delete(n.kids, at+1, at+2)
}
