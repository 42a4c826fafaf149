package control

import (
	"cmp"
	"time"

	"github.com/tidwall/btree"
)

// queue has keys that are ready, in order, and keys that wait for a time. The zero value is empty.
type queue struct {
	keys    []string
	waiting map[string]bool
	later   *btree.BTreeG[timed]
	times   map[string]time.Time
}

// timed is a key and its time.
type timed struct {
	at  time.Time
	key string
}

// add adds a ready key at the end, unless it is there.
func (q *queue) add(key string) {
	if q.waiting == nil {
		q.waiting = map[string]bool{}
	}
	if !q.waiting[key] {
		q.waiting[key] = true
		q.keys = append(q.keys, key)
	}
}

// at adds a key that waits for a time. Of several times of a key the earliest counts.
func (q *queue) at(key string, at time.Time) {
	if q.later == nil {
		q.times = map[string]time.Time{}
		q.later = btree.NewBTreeG(func(a, b timed) bool { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key, b.key)) < 0 })
	}
	if before, ok := q.times[key]; ok {
		if !at.Before(before) {
			return
		}
		q.later.Delete(timed{before, key})
	}
	q.times[key] = at
	q.later.Set(timed{at, key})
}

// due returns the earliest time for which a key waits; the zero time if none does.
func (q *queue) due() time.Time {
	if q.later == nil {
		return time.Time{}
	}
	first, _ := q.later.Min()
	return first.at
}

// ready removes the ready keys, and those whose time has come, and returns them in order.
func (q *queue) ready(now time.Time) []string {
	for !q.due().IsZero() && !q.due().After(now) {
		first, _ := q.later.PopMin()
		delete(q.times, first.key)
		q.add(first.key)
	}
	keys := q.keys
	q.keys, q.waiting = nil, nil
	return keys
}
