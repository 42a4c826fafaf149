package memo

// generations is a bounded map. What is used moves to the young generation. When that is full, the old one is dropped.
type generations[V any] struct {
	young, old map[key]V
	size       int // bounds one generation
	used       int // of the young one
}

func (g *generations[V]) find(k key, size func(V) int) (v V, ok bool) {
	if v, ok = g.young[k]; !ok {
		if v, ok = g.old[k]; ok {
			g.keep(k, v, size(v))
		}
	}
	return v, ok
}

func (g *generations[V]) keep(k key, v V, size int) {
	if _, known := g.young[k]; known {
		return
	}
	if g.young == nil || g.used+size > g.size {
		g.young, g.old, g.used = map[key]V{}, g.young, 0
	}
	g.young[k] = v
	g.used += size
}
