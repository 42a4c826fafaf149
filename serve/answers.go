package serve

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/flyball-io/flyball/run"
)

type digest [sha256.Size]byte

// answers caches the answers to questions for a limited time. Concurrent callers with the same
// question share one answer. Positive and negative answers have separate caches, so that many bad
// tokens do not evict good ones.
type answers[V any] struct {
	o          AuthOptions
	slots      chan struct{}
	isPositive func(V) bool

	mu       sync.Mutex
	positive map[digest]answered[V]
	negative map[digest]answered[V]
	pending  map[digest]*question[V]
}

type answered[V any] struct {
	value V
	until time.Time
}

// question is a question that is being asked. Its results may be read once done is closed.
type question[V any] struct {
	done  chan struct{}
	value V
	err   error
}

func newAnswers[V any](o AuthOptions, slots chan struct{}, isPositive func(V) bool) *answers[V] {
	return &answers[V]{
		o: o, slots: slots, isPositive: isPositive,
		positive: map[digest]answered[V]{}, negative: map[digest]answered[V]{}, pending: map[digest]*question[V]{},
	}
}

// get returns the cached answer, or asks. The first caller asks on its own goroutine. If its ctx
// ends, it continues for the other callers until the timeout.
func (a *answers[V]) get(ctx context.Context, key digest, ask func(context.Context) (V, error)) (V, error) {
	a.mu.Lock()
	if v, ok := a.cachedLocked(key); ok {
		a.mu.Unlock()
		return v, nil
	}
	q := a.pending[key]
	first := q == nil
	if first {
		q = &question[V]{done: make(chan struct{})}
		a.pending[key] = q
	}
	a.mu.Unlock()
	if first {
		a.ask(ctx, key, q, ask)
		return q.value, q.err
	}
	select {
	case <-q.done:
		return q.value, q.err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

func (a *answers[V]) cachedLocked(key digest) (V, bool) {
	for _, m := range []map[digest]answered[V]{a.positive, a.negative} {
		if known, ok := m[key]; ok {
			if time.Now().Before(known.until) {
				return known.value, true
			}
			delete(m, key)
		}
	}
	var none V
	return none, false
}

func (a *answers[V]) ask(ctx context.Context, key digest, q *question[V], ask func(context.Context) (V, error)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.o.Timeout)
	defer cancel()
	began := time.Now()
	q.err = run.Safely("review", func() (err error) {
		select {
		case a.slots <- struct{}{}:
			defer func() { <-a.slots }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		q.value, err = ask(ctx)
		return err
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pending, key)
	close(q.done)
	if q.err == nil {
		a.storeLocked(key, q.value, began)
	}
}

// storeLocked caches an answer. Its age counts from the time of the question.
func (a *answers[V]) storeLocked(key digest, v V, began time.Time) {
	m, keep := a.negative, a.o.DenyFor
	if a.isPositive(v) {
		m, keep = a.positive, a.o.AllowFor
	}
	if keep <= 0 {
		return
	}
	if len(m) >= a.o.MaxAnswers {
		evict(m, time.Now())
	}
	m[key] = answered[V]{value: v, until: began.Add(keep)}
}

// evict removes expired entries, or an arbitrary one if none has expired.
func evict[V any](m map[digest]answered[V], now time.Time) {
	full := len(m)
	for key, known := range m {
		if !now.Before(known.until) {
			delete(m, key)
		}
	}
	if len(m) < full {
		return
	}
	for key := range m {
		delete(m, key)
		return
	}
}
