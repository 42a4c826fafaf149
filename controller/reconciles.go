package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/overdue"
)

// slowAfter is how long a reconcile may run before it is named.
const slowAfter = time.Minute

// Reconciles is what the workers of a controller do, for debug pages and errors.
type Reconciles struct {
	// Running are the reconciles that run, the oldest first.
	Running []RunningReconcile
	// Failed is the latest reconcile that failed, if its request has not been reconciled without an error since;
	// nil otherwise. FailedAt is when it ended.
	Failed   *Reconciled
	FailedAt time.Time
}

// RunningReconcile is a reconcile that runs.
type RunningReconcile struct {
	Request any // has the request type of the controller
	Began   time.Time
}

// maxNamed is how many running reconciles a text names.
const maxNamed = 5

// String names the running reconciles: "web/a for 5m3s, web/b for 2s". Empty: none runs.
func (r Reconciles) String() string {
	var names []string
	for _, one := range r.Running[:min(len(r.Running), maxNamed)] {
		names = append(names, fmt.Sprintf("%v for %v", one.Request, time.Since(one.Began).Round(time.Second)))
	}
	text := strings.Join(names, ", ")
	if more := len(r.Running) - len(names); more > 0 {
		text = fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}

// Reconciles are the reconciles that run, and the latest that failed. It is empty while the controller does not run.
func (c *Controller[R]) Reconciles() Reconciles {
	if r, _ := c.present(); r != nil {
		return r.reconciles()
	}
	return Reconciles{}
}

func (r *running[R]) reconciles() Reconciles {
	var all Reconciles
	for _, worker := range r.attempts {
		if a, began, ok := worker.Running(); ok {
			all.Running = append(all.Running, RunningReconcile{a.item.Key, began})
		}
	}
	slices.SortFunc(all.Running, func(a, b RunningReconcile) int { return a.Began.Compare(b.Began) })
	if failed := r.failed.Load(); failed != nil {
		what := failed.what
		all.Failed, all.FailedAt = &what, failed.at
	}
	return all
}

// attempts are the running reconciles: an element for each worker. It names each that has run for a minute.
type attempts[R comparable] []*overdue.Watch[*attempt[R]]

func newAttempts[R comparable](workers int) attempts[R] {
	all := make(attempts[R], workers)
	for i := range all {
		all[i] = overdue.New(slowAfter, func(a *attempt[R], began time.Time) {
			a.Logger().Warn("reconcile takes long, and goes on", "running_for", time.Since(began))
		})
	}
	return all
}

// failure is a reconcile that failed.
type failure[R comparable] struct {
	key  R
	at   time.Time
	what Reconciled
}

// record keeps the latest failure until its request is reconciled without an error.
func (r *running[R]) record(key R, what Reconciled) {
	if what.Err != nil {
		r.failed.Store(&failure[R]{key, time.Now(), what})
	} else if last := r.failed.Load(); last != nil && last.key == key {
		r.failed.CompareAndSwap(last, nil)
	}
}
