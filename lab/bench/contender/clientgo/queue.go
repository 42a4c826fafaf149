package clientgo

import (
	"k8s.io/client-go/util/workqueue"

	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/object"
)

func newQueue() (contender.Queue, error) {
	return queue{workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[object.Key]())}, nil
}

type queue struct {
	q workqueue.TypedRateLimitingInterface[object.Key]
}

func (q queue) Add(key object.Key, _ bool) { q.q.Add(key) }

func (q queue) Take(n int) {
	for range n {
		key, _ := q.q.Get()
		q.q.Done(key)
	}
}
