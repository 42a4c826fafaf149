package contender

import "github.com/flyball-io/flyball/object"

// Queue is a work queue.
type Queue interface {
	// Add queues a key, at a low priority if the queue has priorities.
	Add(key object.Key, low bool)
	// Take gets n keys one after the other, and finishes each before it gets the next, like a
	// worker of the library. It blocks while the queue is empty.
	Take(n int)
}

// Together is a Queue that takes many keys at a time.
type Together interface {
	Queue
	// AddAll does Add for each key, every other one at a low priority.
	AddAll(keys []object.Key)
}
