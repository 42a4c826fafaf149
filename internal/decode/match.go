package decode

// matches maps the elements of a list before a change to those after it.
type matches struct {
	r           *restorer
	was, is     []*part
	toIs, toWas []int // by element: the index in the other list, unmatched or unclear
}

const (
	unmatched = -1
	unclear   = -2
)

// newMatches matches the unchanged elements: by index, or else in order.
func newMatches(r *restorer, was, is []*part) *matches {
	m := &matches{r: r, was: was, is: is, toIs: make([]int, len(was)), toWas: make([]int, len(is))}
	for i := range m.toIs {
		m.toIs[i] = unmatched
	}
	for i := range m.toWas {
		m.toWas[i] = unmatched
	}
	changed := false
	for i := range was {
		if i < len(is) && r.same(was[i], is[i]) {
			m.pair(i, i)
		} else {
			changed = true
		}
	}
	if !changed {
		return m
	}
	free := map[string][]int{}
	for i, p := range is {
		if m.toWas[i] == unmatched {
			text := p.text(r.sent)
			free[text] = append(free[text], i)
		}
	}
	for i, p := range was {
		text := p.text(r.known)
		if f := free[text]; m.toIs[i] == unmatched && len(f) > 0 {
			m.pair(i, f[0])
			free[text] = f[1:]
		}
	}
	return m
}

func (m *matches) pair(was, is int) { m.toIs[was], m.toWas[is] = is, was }

// byKey matches changed elements by their keys.
func (m *matches) byKey() {
	type group struct{ was, is []int }
	groups := map[string]*group{}
	of := func(p *part) *group {
		if groups[p.key] == nil {
			groups[p.key] = &group{}
		}
		return groups[p.key]
	}
	for i, p := range m.was {
		if m.toIs[i] == unmatched {
			of(p).was = append(of(p).was, i)
		}
	}
	for i, p := range m.is {
		if m.toWas[i] == unmatched {
			of(p).is = append(of(p).is, i)
		}
	}
	for _, g := range groups {
		m.inOrder(g.was, g.is)
	}
}

// byPlace matches changed elements by their position between unchanged ones.
func (m *matches) byPlace() {
	var was, is []int
	next := 0 // index in the current list
	for i, n := range m.toIs {
		switch {
		case n == unmatched:
			was = append(was, i)
			continue
		case n < next: // it was moved
			continue
		}
		for ; next < n; next++ {
			if m.toWas[next] == unmatched {
				is = append(is, next)
			}
		}
		m.inOrder(was, is)
		was, is, next = nil, nil, n+1
	}
	for ; next < len(m.is); next++ {
		if m.toWas[next] == unmatched {
			is = append(is, next)
		}
	}
	m.inOrder(was, is)
}

// inOrder matches changed elements in order if their number is unchanged.
func (m *matches) inOrder(was, is []int) {
	switch {
	case len(was) == len(is):
		for i := range was {
			m.pair(was[i], is[i])
		}
	case len(is) > 0:
		for _, i := range was {
			m.toIs[i] = unclear
		}
	}
}
