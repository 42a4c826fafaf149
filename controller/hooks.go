package controller

import (
	"time"

	"github.com/flyball-io/flyball/workqueue"
)

// and returns hooks that call first and then h.
func (h Hooks) and(first Hooks) Hooks {
	return Hooks{
		Reconciled: both(first.Reconciled, h.Reconciled),
		Problem:    both(first.Problem, h.Problem),
		Queue:      observers(first.Queue, h.Queue),
	}
}

func both[T any](first, second func(T)) func(T) {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	return func(v T) {
		first(v)
		second(v)
	}
}

func observers(first, second workqueue.Observer) workqueue.Observer {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	return twoObservers{first, second}
}

type twoObservers struct{ first, second workqueue.Observer }

// ObserveWait implements workqueue.Observer.
func (o twoObservers) ObserveWait(d time.Duration) {
	o.first.ObserveWait(d)
	o.second.ObserveWait(d)
}

// ObserveWork implements workqueue.Observer.
func (o twoObservers) ObserveWork(d time.Duration) {
	o.first.ObserveWork(d)
	o.second.ObserveWork(d)
}
