package cow

const (
	leafBits = 6
	leafSize = 1 << leafBits
	midBits  = 5
	midSize  = 1 << midBits
)

// Table is an array of any length; its items are zero until they are set. Zero items take no
// memory, in groups of 64.
type Table[T comparable] struct {
	owner *Owner // of top
	top   []*mid[T]
}

type mid[T comparable] struct {
	owner  *Owner
	used   int // leaves
	leaves [midSize]*leaf[T]
}

type leaf[T comparable] struct {
	owner *Owner
	used  int // items that are not zero
	items [leafSize]T
}

// Get returns the item at i.
func (t *Table[T]) Get(i uint32) (item T) {
	at := int(i >> (leafBits + midBits))
	if at >= len(t.top) {
		return item
	}
	m := t.top[at]
	if m == nil {
		return item
	}
	l := m.leaves[i>>leafBits%midSize]
	if l == nil {
		return item
	}
	return l.items[i%leafSize]
}

// Set sets the item at i.
func (t *Table[T]) Set(o *Owner, i uint32, item T) {
	var zero T
	if item == zero && t.Get(i) == zero {
		return
	}
	m := t.mid(o, int(i>>(leafBits+midBits)))
	at := &m.leaves[i>>leafBits%midSize]
	l := *at
	switch {
	case l == nil:
		l = &leaf[T]{owner: o}
		m.used++
	case l.owner != o:
		own := *l
		own.owner = o
		l = &own
	}
	*at = l
	if was := &l.items[i%leafSize]; *was != item {
		if *was == zero {
			l.used++
		} else if item == zero {
			l.used--
		}
		*was = item
	}
	if l.used == 0 {
		*at = nil
		if m.used--; m.used == 0 {
			t.top[i>>(leafBits+midBits)] = nil
		}
	}
}

// mid returns a branch that o may change.
func (t *Table[T]) mid(o *Owner, at int) *mid[T] {
	if t.owner != o {
		t.top = append(make([]*mid[T], 0, max(len(t.top), at+1)), t.top...)
		t.owner = o
	}
	for at >= len(t.top) {
		t.top = append(t.top, nil)
	}
	m := t.top[at]
	switch {
	case m == nil:
		m = &mid[T]{owner: o}
	case m.owner != o:
		own := *m
		own.owner = o
		m = &own
	}
	t.top[at] = m
	return m
}

// All yields the items that are not zero, by index.
func (t *Table[T]) All() func(yield func(uint32, T) bool) {
	top := t.top
	return func(yield func(uint32, T) bool) {
		var zero T
		for i, m := range top {
			if m == nil {
				continue
			}
			for j, l := range m.leaves {
				if l == nil {
					continue
				}
				for k, item := range l.items {
					if item != zero && !yield(uint32(i)<<(leafBits+midBits)|uint32(j)<<leafBits|uint32(k), item) {
						return
					}
				}
			}
		}
	}
}
