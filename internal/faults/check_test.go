package faults_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/ledger"
	"github.com/flyball-io/flyball/object"
)

var errLate = errors.New("a minute after the last fault")

// seen waits until every observer has seen the last state of every object.
func (r *rig) seen() {
	r.Helper()
	ctx, cancel := context.WithTimeoutCause(r.Context(), time.Minute, errLate)
	defer cancel()
	if err := r.book.Wait(ctx); err != nil {
		r.Fatalf("lost: %v\nwatch: %+v", err, r.watch())
	}
}

// nothingLost is the check at the end of every fault test. It waits up to a minute for these
// properties:
//
//   - The store equals a fresh list.
//   - Every key was reconciled in its last state.
//   - No observer saw an older state after a newer one.
//   - Every deletion was reported.
//   - Nothing waits. In the audit: nothing accumulates.
func (r *rig) nothingLost() {
	r.Helper()
	ctx, cancel := context.WithTimeoutCause(r.Context(), time.Minute, errLate)
	defer cancel()
	if err := r.book.Wait(ctx); err != nil {
		r.Fatalf("lost: %v\nwatch: %+v", err, r.watch())
	}
	var err error
	if !r.state.await(ctx, func() bool { err = errors.Join(r.idle(), r.same(ctx), r.told(ctx)); return err == nil }) {
		r.Errorf("%v: %v", errLate, err)
	}
	var n int
	var heap int64
	if !r.state.await(ctx, func() bool { // the heap has also what tests beside this one hold for a while
		n, heap = measure(r.T)
		return n <= r.goroutines+20 && heap <= r.heap+32<<20
	}) {
		r.Errorf("goroutines %d → %d, heap %d → %d", r.goroutines, n, r.heap, heap)
	}
	writes, deletes, _ := r.book.Counts()
	r.Logf("%d writes, %d of them deletes; handler %+v; requests %v; relists %v, restarts %v",
		writes+deletes, deletes, *r.tally("handler"), r.asked.total(), r.watch().Relists, r.watch().Restarts)
}

// idle returns an error if an item waits in a queue.
func (r *rig) idle() error {
	q, f, reg := r.ctl.QueueStats(), r.kind.Informer().Figures(), r.reg.Stats()
	if q.Depth+q.Delayed+q.InFlight+f.Queued+reg.Pending == 0 {
		return nil
	}
	return fmt.Errorf("queue %+v, between watch and store %d, handler %+v", q, f.Queued, reg)
}

// same compares the store with a fresh list.
func (r *rig) same(ctx context.Context) error {
	var failed error
	stored := without(client.List[corev1.ConfigMap](ctx, r.mgr.Cache(), client.InNamespace(r.ns)), &failed)
	fresh := without(client.List[corev1.ConfigMap](ctx, r.direct, client.InNamespace(r.ns)), &failed)
	return errors.Join(ledger.Same(stored, fresh), failed)
}

// told checks for each observer that additions minus deletions equal the number of objects.
func (r *rig) told(ctx context.Context) error {
	live := 0
	for _, err := range client.List[corev1.ConfigMap](ctx, r.direct, client.InNamespace(r.ns)) {
		if err != nil {
			return err
		}
		live++
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, n := range r.counted {
		if n.added-n.deleted != live {
			return fmt.Errorf("%s was told of %d additions and %d deletions, and there are %d objects", name, n.added, n.deleted, live)
		}
	}
	return nil
}

// without yields the objects of a sequence and keeps its error.
func without[T any, P object.Ptr[T]](all iter.Seq2[P, error], failed *error) iter.Seq[P] {
	return func(yield func(P) bool) {
		for o, err := range all {
			if err != nil {
				*failed = err
				return
			}
			if !yield(o) {
				return
			}
		}
	}
}

// requests counts the requests of the program.
type requests struct {
	mu   sync.Mutex
	all  map[string]int // "list configmaps"
	when []asked
}

type asked struct {
	client.Done
	at time.Time
}

func (q *requests) note(d client.Done) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all == nil {
		q.all = map[string]int{}
	}
	q.all[d.Verb+" "+d.Resource.Resource]++
	q.when = append(q.when, asked{d, time.Now().Add(-d.Duration)})
}

// total returns the number of each.
func (q *requests) total() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.all)
}

// since returns the requests that began after a time.
func (q *requests) since(t time.Time) []asked {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []asked
	for _, a := range q.when {
		if a.at.After(t) {
			out = append(out, a)
		}
	}
	return out
}
