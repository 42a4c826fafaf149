package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// slowAfter is how long a reconcile may run before it is named. slowCheck is how often that is looked at.
	slowAfter = time.Minute
	slowCheck = 5 * time.Second
)

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
	for i := range r.attempts {
		if a := r.attempts[i].Load(); a != nil {
			all.Running = append(all.Running, RunningReconcile{a.item.Key, a.began})
		}
	}
	slices.SortFunc(all.Running, func(a, b RunningReconcile) int { return a.Began.Compare(b.Began) })
	if failed := r.failed.Load(); failed != nil {
		what := failed.what
		all.Failed, all.FailedAt = &what, failed.at
	}
	return all
}

// attempts are the running reconciles: an element for each worker, nil while it has none.
type attempts[R comparable] []atomic.Pointer[attempt[R]]

// requests are those of the running reconciles.
func (all attempts[R]) requests() (running []R) {
	for i := range all {
		if a := all[i].Load(); a != nil {
			running = append(running, a.item.Key)
		}
	}
	return running
}

// nameSlow names each reconcile once that has run for a minute, until ctx ends.
func (all attempts[R]) nameSlow(ctx context.Context) {
	check := time.NewTicker(slowCheck)
	defer check.Stop()
	named := make([]*attempt[R], len(all))
	for {
		select {
		case <-check.C:
		case <-ctx.Done():
			return
		}
		for i := range all {
			if a := all[i].Load(); a != nil && a != named[i] && time.Since(a.began) >= slowAfter {
				named[i] = a
				a.Logger().Warn("reconcile takes long, and goes on", "running_for", time.Since(a.began))
			}
		}
	}
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
