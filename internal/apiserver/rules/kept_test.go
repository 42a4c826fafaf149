// Code generated from controlplane/rules/kept.go by TestProtocolIsThatOfTheProgram. DO NOT EDIT.

package rules

import "container/list"

// kept has the last used values by key, at most a fixed number of them. It is not safe for concurrent use.
type kept[K comparable, V any] struct {
	limit int
	drop  func(V) // called for each value that has been dropped; may be nil
	known map[K]*list.Element
	order list.List // of keptValue, the last used one first
}

type keptValue[K comparable, V any] struct {
	key   K
	value V
}

func newKept[K comparable, V any](limit int, drop func(V)) *kept[K, V] {
	return &kept[K, V]{limit: limit, drop: drop, known: map[K]*list.Element{}}
}

// get returns the value of a key, and whether there is one.
func (k *kept[K, V]) get(key K) (v V, ok bool) {
	e, ok := k.known[key]
	if !ok {
		return v, false
	}
	k.order.MoveToFront(e)
	return e.Value.(keptValue[K, V]).value, true
}

// put adds a value whose key has none. The least recently used one is evicted.
func (k *kept[K, V]) put(key K, v V) {
	k.known[key] = k.order.PushFront(keptValue[K, V]{key, v})
	if k.order.Len() <= k.limit {
		return
	}
	last := k.order.Remove(k.order.Back()).(keptValue[K, V])
	delete(k.known, last.key)
	if k.drop != nil {
		k.drop(last.value)
	}
}
