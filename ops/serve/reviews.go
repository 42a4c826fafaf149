package serve

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/flyball-io/flyball/run"
)

type digest [sha256.Size]byte

// reviews caches the answers to questions for a limited time. Concurrent callers with the same
// question share one answer. Positive and negative answers have separate caches, so that many bad
// tokens do not evict good ones.
type reviews[V any] struct {
	o          AuthOptions
	slots      chan struct{}
	isPositive func(V) bool
	positive   *cache.LRUExpireCache // by digest
	negative   *cache.LRUExpireCache

	mu      sync.Mutex
	pending map[digest]*review[V]
}

// review is a question that is being asked. Its results may be read once done is closed.
type review[V any] struct {
	done  chan struct{}
	value V
	err   error
}

func newReviews[V any](o AuthOptions, slots chan struct{}, isPositive func(V) bool) *reviews[V] {
	return &reviews[V]{
		o: o, slots: slots, isPositive: isPositive, pending: map[digest]*review[V]{},
		positive: cache.NewLRUExpireCache(o.MaxAnswers), negative: cache.NewLRUExpireCache(o.MaxAnswers),
	}
}

// get returns the cached answer, or asks. The first caller asks on its own goroutine. If its ctx
// ends, it continues for the other callers until the timeout.
func (a *reviews[V]) get(ctx context.Context, key digest, ask func(context.Context) (V, error)) (V, error) {
	a.mu.Lock()
	for _, c := range []*cache.LRUExpireCache{a.positive, a.negative} {
		if known, ok := c.Get(key); ok {
			a.mu.Unlock()
			return known.(V), nil
		}
	}
	q := a.pending[key]
	first := q == nil
	if first {
		q = &review[V]{done: make(chan struct{})}
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

// ask answers a question, and caches the answer. Its age counts from the time of the question.
func (a *reviews[V]) ask(ctx context.Context, key digest, q *review[V], ask func(context.Context) (V, error)) {
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
	to, keep := a.negative, a.o.DenyFor
	if a.isPositive(q.value) {
		to, keep = a.positive, a.o.AllowFor
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if keep -= time.Since(began); q.err == nil && keep > 0 {
		to.Add(key, q.value, keep)
	}
	delete(a.pending, key)
	close(q.done)
}
