package workqueue

// reruns are the keys that were added again while they were worked on, from then until they are
// handed out again: when that was, and in that order. Few keys are, so an entry has no room for it.
type reruns struct {
	list list
	of   map[number]rerun
	most int // that there were at once, since of was made
}

// keepReruns is how many there may be without the map being dropped when there are none.
const keepReruns = 64

// rerun is one of them. Its entry is in flight, or ready again since Done.
type rerun struct {
	added int64 // when it became due
	links links
}

// append adds n, which is none of them. Times must not fall.
func (r *reruns) append(n number, added int64) {
	if r.of == nil {
		r.of = map[number]rerun{}
	}
	r.of[n] = rerun{added: added, links: links{prev: r.list.tail}}
	r.after(r.list.tail, n)
	r.list.tail = n
	r.most = max(r.most, len(r.of))
}

// remove takes n out. It reports false if it is none of them.
func (r *reruns) remove(n number) (added int64, ok bool) {
	x, ok := r.of[n]
	if !ok {
		return 0, false
	}
	delete(r.of, n)
	r.after(x.links.prev, x.links.next)
	r.before(x.links.next, x.links.prev)
	if len(r.of) == 0 && r.most > keepReruns {
		*r = reruns{}
	}
	return x.added, true
}

// rename gives the place of from to the number to.
func (r *reruns) rename(from, to number) {
	x, ok := r.of[from]
	if !ok {
		return
	}
	delete(r.of, from)
	r.of[to] = x
	r.after(x.links.prev, to)
	r.before(x.links.next, to)
}

// first is when the one was added that waits for longest.
func (r *reruns) first() (added int64, ok bool) {
	x, ok := r.of[r.list.head]
	return x.added, ok
}

// after makes n the one that follows prev; zero: the first.
func (r *reruns) after(prev, n number) {
	if prev == 0 {
		r.list.head = n
		return
	}
	x := r.of[prev]
	x.links.next = n
	r.of[prev] = x
}

// before makes n the one that precedes next; zero: the last.
func (r *reruns) before(next, n number) {
	if next == 0 {
		r.list.tail = n
		return
	}
	x := r.of[next]
	x.links.prev = n
	r.of[next] = x
}
