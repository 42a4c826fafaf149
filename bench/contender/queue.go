package contender

import (
	"context"

	"github.com/go-logr/logr"
	clientqueue "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/workqueue"
)

// Queue is a work queue.
type Queue interface {
	// Add queues a key, at a low priority where the queue has any.
	Add(key object.Key, low bool)
	// Take gets a key and is done with it. It blocks while there is none.
	Take()
}

// Together is a Queue that takes many keys at a time.
type Together interface {
	Queue
	// AddAll does Add for each key, every other one at a low priority.
	AddAll(keys []object.Key)
}

// NewQueue makes the work queue of a library.
func NewQueue(library string) (Queue, error) {
	switch library {
	case Flyball:
		q, err := workqueue.New[object.Key, struct{}](workqueue.Options[object.Key, struct{}]{})
		return &flyballQueue{q: q}, err
	case ClientGo:
		return clientGoQueue{clientqueue.NewTypedRateLimitingQueue(clientqueue.DefaultTypedControllerRateLimiter[object.Key]())}, nil
	}
	return controllerRuntimeQueue{priorityqueue.New("bench", func(o *priorityqueue.Opts[object.Key]) { o.Log = logr.Discard() })}, nil
}

type flyballQueue struct {
	q    *workqueue.Queue[object.Key, struct{}]
	adds []workqueue.Add[object.Key, struct{}]
}

func (q *flyballQueue) Add(key object.Key, low bool) {
	var o workqueue.AddOptions[struct{}]
	if low {
		o.Priority = controller.LowPriority
	}
	q.q.AddWith(key, o)
}

// AddAll implements Together.
func (q *flyballQueue) AddAll(keys []object.Key) {
	q.adds = q.adds[:0]
	for i, k := range keys {
		a := workqueue.Add[object.Key, struct{}]{Key: k}
		if i%2 == 0 {
			a.Priority = controller.LowPriority
		}
		q.adds = append(q.adds, a)
	}
	q.q.AddAll(q.adds)
}

func (q *flyballQueue) Take() {
	if item, ok := q.q.Get(context.Background()); ok {
		q.q.Done(item.Key)
	}
}

type clientGoQueue struct {
	q clientqueue.TypedRateLimitingInterface[object.Key]
}

func (q clientGoQueue) Add(key object.Key, _ bool) { q.q.Add(key) }

func (q clientGoQueue) Take() {
	key, _ := q.q.Get()
	q.q.Done(key)
}

type controllerRuntimeQueue struct {
	q priorityqueue.PriorityQueue[object.Key]
}

func (q controllerRuntimeQueue) Add(key object.Key, low bool) {
	priority := 0
	if low {
		priority = controller.LowPriority
	}
	q.q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, key)
}

func (q controllerRuntimeQueue) Take() {
	key, _, _ := q.q.GetWithPriority()
	q.q.Done(key)
}
