package workqueue

// ready holds the ready items: a list for each priority in use, a heap of those lists, and the
// order in which all items became ready.
type ready struct {
	n      int
	ages   pages[number] // in order of readiness; items that are no longer ready stay until room is needed
	oldest int           // index in ages; no item before it is ready
	latest int           // number of ages in use
	levels []level       // by level number; index 0 is unused
	unused []uint32
	find   map[int]uint32 // level numbers by priority
	order  heap           // levels with items, and some without, highest priority first
	// cached holds level numbers by the lowest four bits of their priority, to save a look into
	// the map. A level without items exists only here.
	cached [16]uint32
}

// level holds the ready items of one priority, in the order in which they entered it.
type level struct {
	priority int
	n        int
	items    list
	ordered  bool // order has it
}

func (r *ready) init() {
	*r = ready{levels: make([]level, 1), find: map[int]uint32{}}
}

// front returns the first item of the highest priority, or zero if nothing is ready.
func (r *ready) front() number {
	for {
		at := r.order.first()
		if l := &r.levels[at]; l.items.head != 0 || at == 0 {
			return l.items.head
		}
		r.levels[at].ordered = false
		r.order.remove(at)
	}
}

// oldestReady returns the item that has been ready longest, or zero if nothing is ready.
func (r *ready) oldestReady(s nodes) number {
	for ; r.oldest < r.latest; r.oldest++ {
		if n := *r.ages.at(number(r.oldest)); s.at(n).isAge(r.oldest) {
			return n
		}
	}
	return 0
}

// append adds n at the end of its level and of ages. Stamps must not decrease.
func (r *ready) append(s nodes, n number, priority int) {
	if r.latest == r.ages.room() {
		r.makeRoom(s)
	}
	s.at(n).age = uint32(r.latest)
	*r.ages.at(number(r.latest)) = n
	r.latest++
	r.n++
	r.enter(s, n, priority)
}

// makeRoom makes room in ages. It packs them if that frees more than half, and grows them
// otherwise.
func (r *ready) makeRoom(s nodes) {
	if 2*r.n >= r.ages.room() {
		r.ages.grow()
	} else {
		r.compactAges(s)
	}
}

// compactAges removes the items from ages that are no longer ready.
func (r *ready) compactAges(s nodes) {
	from, to := r.oldest, r.latest
	r.oldest, r.latest = 0, 0
	for i := from; i < to; i++ {
		n := *r.ages.at(number(i))
		if e := s.at(n); e.isAge(i) {
			e.age = uint32(r.latest)
			*r.ages.at(number(r.latest)) = n
			r.latest++
		}
	}
}

// remove removes n. Its node must still say that it is ready.
func (r *ready) remove(s nodes, n number) {
	r.leave(s, n)
	if r.n--; r.n == 0 {
		r.oldest, r.latest = 0, 0
	}
}

// raise moves n to the end of another level.
func (r *ready) raise(s nodes, n number, priority int) {
	r.leave(s, n)
	r.enter(s, n, priority)
}

func (r *ready) enter(s nodes, n number, priority int) {
	at := r.cached[priority&15]
	if r.levels[at].priority != priority || at == 0 {
		at = r.levelOf(priority)
	}
	l := &r.levels[at]
	if !l.ordered {
		l.ordered = true
		r.order.push(at, ^int64(priority), 0)
	}
	s.at(n).level = at
	l.items.append(s, n)
	l.n++
}

// levelOf finds or makes the level of a priority that cached does not have, and caches it there.
func (r *ready) levelOf(priority int) uint32 {
	at := r.find[priority]
	if at == 0 {
		if last := len(r.unused) - 1; last >= 0 {
			at = r.unused[last]
			r.unused = r.unused[:last]
		} else {
			at = uint32(len(r.levels))
			r.levels = append(r.levels, level{})
		}
		r.levels[at] = level{priority: priority}
		r.find[priority] = at
	}
	r.cacheLevel(at)
	return at
}

func (r *ready) leave(s nodes, n number) {
	at := s.at(n).level
	l := &r.levels[at]
	l.items.remove(s, n)
	l.n--
	if l.items.head == 0 && r.cached[l.priority&15] != at {
		r.cacheLevel(at)
	}
}

// cacheLevel puts a level into cached. It deletes the level that it replaces there, if that has no
// items.
func (r *ready) cacheLevel(at uint32) {
	cached := &r.cached[r.levels[at].priority&15]
	was := *cached
	*cached = at
	if l := &r.levels[was]; was != 0 && l.items.head == 0 {
		if l.ordered {
			r.order.remove(was)
		}
		delete(r.find, l.priority)
		r.unused = append(r.unused, was)
	}
}
