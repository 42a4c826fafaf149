package contender

import "github.com/flyball-io/flyball/object"

// Queue is a work queue.
type Queue interface {
	// Add queues a key, at a low priority where the queue has any.
	Add(key object.Key, low bool)
	// Take gets so many keys, one after the other, and is done with each before it has the next: as
	// a worker of the library does. It blocks while there is none.
	Take(n int)
}

// Together is a Queue that takes many keys at a time.
type Together interface {
	Queue
	// AddAll does Add for each key, every other one at a low priority.
	AddAll(keys []object.Key)
}
