package serve

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/flyball-io/flyball/run"
)

type digest [sha256.Size]byte

// answers remembers what was answered for a while, and has those who ask the same at once wait for
// one answer. A yes and a no are kept apart, so that those who ask with bad tokens do not push out
// the good ones.
type answers[V any] struct {
	o     AuthOptions
	turns chan struct{}
	isYes func(V) bool

	mu    sync.Mutex
	yes   map[digest]answered[V]
	no    map[digest]answered[V]
	asked map[digest]*question[V]
}

type answered[V any] struct {
	value V
	until time.Time
}

// question is one that is being asked. The fields are to be read once done is closed.
type question[V any] struct {
	done  chan struct{}
	value V
	err   error
}

func newAnswers[V any](o AuthOptions, turns chan struct{}, isYes func(V) bool) *answers[V] {
	return &answers[V]{
		o: o, turns: turns, isYes: isYes,
		yes: map[digest]answered[V]{}, no: map[digest]answered[V]{}, asked: map[digest]*question[V]{},
	}
}

// get returns what is known, or asks. Whoever comes first asks, on his own goroutine, and goes on
// for the others if his own ctx ends meanwhile, as long as the timeout lasts.
func (a *answers[V]) get(ctx context.Context, key digest, ask func(context.Context) (V, error)) (V, error) {
	a.mu.Lock()
	if v, ok := a.knownLocked(key); ok {
		a.mu.Unlock()
		return v, nil
	}
	q := a.asked[key]
	first := q == nil
	if first {
		q = &question[V]{done: make(chan struct{})}
		a.asked[key] = q
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

func (a *answers[V]) knownLocked(key digest) (V, bool) {
	for _, m := range []map[digest]answered[V]{a.yes, a.no} {
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
		case a.turns <- struct{}{}:
			defer func() { <-a.turns }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		q.value, err = ask(ctx)
		return err
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.asked, key)
	close(q.done)
	if q.err == nil {
		a.rememberLocked(key, q.value, began)
	}
}

// rememberLocked keeps an answer from when it was asked for.
func (a *answers[V]) rememberLocked(key digest, v V, began time.Time) {
	m, keep := a.no, a.o.DenyFor
	if a.isYes(v) {
		m, keep = a.yes, a.o.AllowFor
	}
	if keep <= 0 {
		return
	}
	if len(m) >= a.o.MaxAnswers {
		makeRoom(m, time.Now())
	}
	m[key] = answered[V]{value: v, until: began.Add(keep)}
}

// makeRoom drops what is out of date, or, if nothing is, any one.
func makeRoom[V any](m map[digest]answered[V], now time.Time) {
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
