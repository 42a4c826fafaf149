package cow

// Iter walks over a version of a Tree that does not change. Call First or Seek first.
type Iter struct {
	t    *Tree
	path []step
}

type step struct {
	n  *node
	at int
}

// Iter returns an iterator without a position.
func (t *Tree) Iter() Iter { return Iter{t: t} }

// First moves to the first number; false if there is none.
func (i *Iter) First() bool {
	i.path = i.path[:0]
	if i.t.root == nil {
		return i.t.n > 0
	}
	i.descend(i.t.root)
	return true
}

func (i *Iter) descend(n *node) {
	for {
		i.path = append(i.path, step{n, 0})
		if n.kids == nil {
			return
		}
		n = n.kids[0]
	}
}

// Seek moves to the first number at or behind the sought one; false if there is none.
func (i *Iter) Seek(p Probe) bool {
	i.path = i.path[:0]
	n := i.t.root
	if n == nil {
		return i.t.n > 0 && p(i.t.one) >= 0
	}
	for {
		at, same := n.floor(p)
		if n.kids != nil {
			at = max(at, 0)
			i.path = append(i.path, step{n, at})
			n = n.kids[at]
			continue
		}
		if !same {
			at++
		}
		if i.path = append(i.path, step{n, at}); at < len(n.ids) {
			return true
		}
		i.path[len(i.path)-1].at--
		return i.Next()
	}
}

// Next moves to the next number; false at the end.
func (i *Iter) Next() bool {
	for len(i.path) > 0 {
		s := &i.path[len(i.path)-1]
		if s.at++; s.at < len(s.n.ids) {
			if s.n.kids != nil {
				i.descend(s.n.kids[s.at])
			}
			return true
		}
		i.path = i.path[:len(i.path)-1]
	}
	return false
}

// ID returns the current number.
func (i *Iter) ID() uint32 {
	if len(i.path) == 0 {
		return i.t.one
	}
	s := i.path[len(i.path)-1]
	return s.n.ids[s.at]
}

// All yields all numbers, in order.
func (t *Tree) All() func(yield func(uint32) bool) {
	return func(yield func(uint32) bool) {
		i := t.Iter()
		for ok := i.First(); ok; ok = i.Next() {
			if !yield(i.ID()) {
				return
			}
		}
	}
}
