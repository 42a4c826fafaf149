package flyball

import (
	"context"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/workqueue"
)

func newQueue() (contender.Queue, error) {
	q, err := workqueue.New[object.Key, struct{}](workqueue.Options[object.Key, struct{}]{})
	return &queue{q: q}, err
}

type queue struct {
	q    *workqueue.Queue[object.Key, struct{}]
	adds []workqueue.Add[object.Key, struct{}]
}

func (q *queue) Add(key object.Key, low bool) {
	var o workqueue.AddOptions[struct{}]
	if low {
		o.Priority = controller.LowPriority
	}
	q.q.AddWith(key, o)
}

// AddAll implements contender.Together.
func (q *queue) AddAll(keys []object.Key) {
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

func (q *queue) Take(n int) {
	ctx := context.Background()
	item, _ := q.q.Get(ctx)
	for range n - 1 {
		item, _ = q.q.Next(ctx, item.Key)
	}
	q.q.Done(item.Key)
}
