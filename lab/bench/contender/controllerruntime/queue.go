package controllerruntime

import (
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	crhandler "sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/object"
)

func newQueue() (contender.Queue, error) {
	return queue{priorityqueue.New("bench", func(o *priorityqueue.Opts[object.Key]) { o.Log = logr.Discard() })}, nil
}

type queue struct {
	q priorityqueue.PriorityQueue[object.Key]
}

func (q queue) Add(key object.Key, low bool) {
	priority := 0
	if low {
		priority = crhandler.LowPriority
	}
	q.q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, key)
}

func (q queue) Take(n int) {
	for range n {
		key, _, _ := q.q.GetWithPriority()
		q.q.Done(key)
	}
}
