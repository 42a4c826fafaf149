package workqueue

import (
	"cmp"
	"slices"
)

// ready holds the ready items: a list for each priority in use, and one of all in the order in
// which they became ready.
type ready[K comparable, V any] struct {
	levels []level[K, V] // with items, highest priority first
	ages   list[K, V]
}

// level holds the ready items of one priority, in the order in which they entered it.
type level[K comparable, V any] struct {
	priority int
	items    list[K, V]
}

// front returns the first item of the highest priority, or nil if nothing is ready.
func (r *ready[K, V]) front() *entry[K, V] {
	if len(r.levels) == 0 {
		return nil
	}
	return r.levels[0].items.head
}

// lastFirst makes the last item of the highest priority its first.
func (r *ready[K, V]) lastFirst() {
	if len(r.levels) == 0 {
		return
	}
	if l := &r.levels[0].items; l.head != l.tail {
		e := l.tail
		l.remove(e, byTurn)
		l.head.links[byTurn].prev, e.links[byTurn].next = e, l.head
		l.head = e
		l.n++
	}
}

// append adds e at the end of its level and of ages. Stamps must not decrease.
func (r *ready[K, V]) append(e *entry[K, V]) {
	r.ages.append(e, byAge)
	r.enter(e)
}

func (r *ready[K, V]) remove(e *entry[K, V]) {
	r.ages.remove(e, byAge)
	r.leave(e)
}

// raise moves e to the end of another level.
func (r *ready[K, V]) raise(e *entry[K, V], priority int) {
	r.leave(e)
	e.priority = priority
	r.enter(e)
}

func (r *ready[K, V]) enter(e *entry[K, V]) {
	i, found := r.find(e.priority)
	if !found {
		r.levels = slices.Insert(r.levels, i, level[K, V]{priority: e.priority})
	}
	r.levels[i].items.append(e, byTurn)
}

func (r *ready[K, V]) leave(e *entry[K, V]) {
	i, _ := r.find(e.priority)
	if r.levels[i].items.remove(e, byTurn); r.levels[i].items.n == 0 {
		r.levels = slices.Delete(r.levels, i, i+1)
	}
}

// find returns the place of a priority in levels, and whether it is there.
func (r *ready[K, V]) find(priority int) (int, bool) {
	return slices.BinarySearchFunc(r.levels, priority, func(l level[K, V], priority int) int {
		return cmp.Compare(priority, l.priority)
	})
}
