package workqueue

import (
	"cmp"
	"slices"
)

// ready holds the ready items: a list for each priority in use, and the order in which all items
// became ready.
type ready struct {
	n      int
	ages   []number // in order of readiness; items that are no longer ready stay until room is needed
	oldest int      // index in ages; no item before it is ready
	levels []level  // by level number
	order  []uint32 // numbers of the levels with items, highest priority first
	free   []uint32 // numbers of the levels without items
}

// level holds the ready items of one priority, in the order in which they entered it.
type level struct {
	priority int
	n        int
	items    list
}

// front returns the first item of the highest priority, or zero if nothing is ready.
func (r *ready) front() number {
	if len(r.order) == 0 {
		return 0
	}
	return r.levels[r.order[0]].items.head
}

// lastFirst makes the last item of the highest priority its first.
func (r *ready) lastFirst(s nodes) {
	if len(r.order) == 0 {
		return
	}
	if l := &r.levels[r.order[0]].items; l.head != l.tail {
		n := l.tail
		l.remove(s, n)
		s.at(l.head).links.prev, s.at(n).links = n, links{next: l.head}
		l.head = n
	}
}

// oldestReady returns the item that has been ready longest, or zero if nothing is ready.
func (r *ready) oldestReady(s nodes) number {
	for ; r.oldest < len(r.ages); r.oldest++ {
		if n := r.ages[r.oldest]; s.at(n).isAge(r.oldest) {
			return n
		}
	}
	return 0
}

// append adds n at the end of its level and of ages. Stamps must not decrease.
func (r *ready) append(s nodes, n number, priority int) {
	if len(r.ages) == cap(r.ages) && 2*r.n < len(r.ages) {
		r.compactAges(s)
	}
	s.at(n).age = uint32(len(r.ages))
	r.ages = append(r.ages, n)
	r.n++
	r.enter(s, n, priority)
}

// compactAges removes the items from ages that are no longer ready.
func (r *ready) compactAges(s nodes) {
	was := r.ages
	r.ages = was[:0]
	for i := r.oldest; i < len(was); i++ {
		if e := s.at(was[i]); e.isAge(i) {
			e.age = uint32(len(r.ages))
			r.ages = append(r.ages, was[i])
		}
	}
	r.oldest = 0
}

// remove removes n. Its node must still say that it is ready.
func (r *ready) remove(s nodes, n number) {
	r.leave(s, n)
	if r.n--; r.n == 0 {
		r.oldest, r.ages = 0, r.ages[:0]
	}
}

// raise moves n to the end of another level.
func (r *ready) raise(s nodes, n number, priority int) {
	r.leave(s, n)
	r.enter(s, n, priority)
}

func (r *ready) enter(s nodes, n number, priority int) {
	i, ok := r.find(priority)
	if !ok {
		if len(r.free) == 0 {
			r.free, r.levels = append(r.free, uint32(len(r.levels))), append(r.levels, level{})
		}
		last := len(r.free) - 1
		r.order = slices.Insert(r.order, i, r.free[last])
		r.free = r.free[:last]
		r.levels[r.order[i]] = level{priority: priority}
	}
	l := &r.levels[r.order[i]]
	s.at(n).level = r.order[i]
	l.items.append(s, n)
	l.n++
}

func (r *ready) leave(s nodes, n number) {
	at := s.at(n).level
	l := &r.levels[at]
	l.items.remove(s, n)
	if l.n--; l.n == 0 {
		i, _ := r.find(l.priority)
		r.order = slices.Delete(r.order, i, i+1)
		r.free = append(r.free, at)
	}
}

// find returns the place of a priority in order, and whether it has a level there.
func (r *ready) find(priority int) (int, bool) {
	return slices.BinarySearchFunc(r.order, priority, func(at uint32, priority int) int {
		return cmp.Compare(priority, r.levels[at].priority)
	})
}
