package workqueue

// ready holds the ready items: a list for each priority in use, a heap over those lists, and one
// list of all by the time they became ready.
type ready[K comparable, V any] struct {
	n      int
	all    list[K, V]
	levels map[int]*level[K, V]
	order  heap[*level[K, V]]
	recent *level[K, V] // the one entered or emptied last; only this may be empty
}

// level is the ready items of one priority, in the order in which they entered it.
type level[K comparable, V any] struct {
	priority int
	items    list[K, V]
	slot     int32
}

func (l *level[K, V]) before(m *level[K, V]) bool { return l.priority > m.priority }
func (l *level[K, V]) at() *int32                 { return &l.slot }

func (r *ready[K, V]) init() {
	r.levels = map[int]*level[K, V]{}
	r.all.which = byTime
}

// front is the first item of the highest priority, nil when nothing is ready.
func (r *ready[K, V]) front() *entry[K, V] {
	if len(r.order) == 0 {
		return nil
	}
	return r.order[0].items.head
}

// append adds e at the end of its level and of all. Stamps must not fall.
func (r *ready[K, V]) append(e *entry[K, V]) {
	r.n++
	r.all.append(e)
	r.enter(e)
}

func (r *ready[K, V]) remove(e *entry[K, V]) {
	r.n--
	r.all.remove(e)
	r.leave(e)
}

func (r *ready[K, V]) raise(e *entry[K, V], priority int) {
	r.leave(e)
	e.priority = priority
	r.enter(e)
}

func (r *ready[K, V]) enter(e *entry[K, V]) {
	l := r.recent
	if l == nil || l.priority != e.priority {
		l = r.open(e.priority)
	}
	if l.items.head == nil {
		r.order.push(l)
	}
	e.level = l
	l.items.append(e)
}

// open finds or makes the level of a priority other than that of recent.
func (r *ready[K, V]) open(priority int) *level[K, V] {
	l := r.levels[priority]
	if l == nil {
		if l = r.spare(); l == nil {
			l = &level[K, V]{}
		}
		l.priority = priority
		r.levels[priority] = l
	} else {
		r.spare()
	}
	r.recent = l
	return l
}

func (r *ready[K, V]) leave(e *entry[K, V]) {
	l := e.level
	e.level = nil
	l.items.remove(e)
	if l.items.head != nil {
		return
	}
	r.order.remove(l)
	if r.recent != l {
		r.spare()
		r.recent = l
	}
}

// spare gives up the empty level, if there is one, and returns it.
func (r *ready[K, V]) spare() *level[K, V] {
	l := r.recent
	if l == nil || l.items.head != nil {
		return nil
	}
	delete(r.levels, l.priority)
	r.recent = nil
	return l
}
