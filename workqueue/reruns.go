package workqueue

// reruns records the keys that were added while in flight, in the order of those adds. A key stays
// until it is handed out again. Few keys are reruns, so they have a map instead of a field of every
// entry.
type reruns struct {
	list     list
	byNumber map[number]rerun
	peak     int // maximum of len(of) since of was made
}

// keepReruns bounds the map that an empty reruns keeps: a map that has held more is dropped.
const keepReruns = 64

// rerun is one record. Its entry is in flight, or ready again since Done.
type rerun struct {
	added int64 // when the add was due
	links links
}

// append adds n, which must not have a record. Times must not decrease.
func (r *reruns) append(n number, added int64) {
	if r.byNumber == nil {
		r.byNumber = map[number]rerun{}
	}
	r.byNumber[n] = rerun{added: added, links: links{prev: r.list.tail}}
	r.after(r.list.tail, n)
	r.list.tail = n
	r.peak = max(r.peak, len(r.byNumber))
}

// remove removes the record of n. It reports false if there is none.
func (r *reruns) remove(n number) (added int64, ok bool) {
	x, ok := r.byNumber[n]
	if !ok {
		return 0, false
	}
	delete(r.byNumber, n)
	r.after(x.links.prev, x.links.next)
	r.before(x.links.next, x.links.prev)
	if len(r.byNumber) == 0 && r.peak > keepReruns {
		*r = reruns{}
	}
	return x.added, true
}

// rename moves the record of from to the number to.
func (r *reruns) rename(from, to number) {
	x, ok := r.byNumber[from]
	if !ok {
		return
	}
	delete(r.byNumber, from)
	r.byNumber[to] = x
	r.after(x.links.prev, to)
	r.before(x.links.next, to)
}

// first returns the time of the oldest record.
func (r *reruns) first() (added int64, ok bool) {
	x, ok := r.byNumber[r.list.head]
	return x.added, ok
}

// after makes n the successor of prev, or the head if prev is zero.
func (r *reruns) after(prev, n number) {
	if prev == 0 {
		r.list.head = n
		return
	}
	x := r.byNumber[prev]
	x.links.next = n
	r.byNumber[prev] = x
}

// before makes n the predecessor of next, or the tail if next is zero.
func (r *reruns) before(next, n number) {
	if next == 0 {
		r.list.tail = n
		return
	}
	x := r.byNumber[next]
	x.links.prev = n
	r.byNumber[next] = x
}
