package run

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	aheadAlone = 16      // values that are computed one by one, at the start
	aheadMost  = 64      // values that are computed together
	aheadShare = 8       // values for which one more goroutine is worth its start
	aheadBytes = 1 << 20 // of values that are computed together
)

// Ahead yields what f makes of each value of seq, in their order. The first sixteen are computed when
// their turn comes. What follows is computed some ahead: up to 64 values together, or as many as have
// 1 MiB by what size says of each; by the goroutine of the loop, and by others that take the next
// value where a processor is idle. Where none is they find nothing left to do, and with one processor
// everything is computed in its turn.
//
// f must be for several goroutines, and only compute: a loop that is left waits for what has begun.
// No goroutine of it is left when the loop ends. seq runs in the goroutine of the loop. If f panics
// the loop does when the turn of that value comes: with what f gave, or with a *PanicError.
func Ahead[V, R any](seq iter.Seq[V], size func(V) int, f func(V) (R, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var helpers sync.WaitGroup
		defer helpers.Wait()
		var b *batch[V, R]
		n := 0
		for v := range seq {
			if n < aheadAlone {
				if n++; !yield(f(v)) {
					return
				}
				continue
			}
			if b == nil {
				n = min(2*n, aheadMost)
				b = &batch[V, R]{f: f, helpers: &helpers, items: make([]item[V, R], 0, n)}
			}
			if b.add(v, size(v)) {
				if !b.each(yield) {
					return
				}
				b = nil
			}
		}
		if b != nil {
			b.each(yield)
		}
	}
}

// batch are values that are computed together.
type batch[V, R any] struct {
	f       func(V) (R, error)
	helpers *sync.WaitGroup
	items   []item[V, R]
	bytes   int
	taken   atomic.Int32   // items, from the first on
	open    sync.WaitGroup // items that are not computed yet
}

type item[V, R any] struct {
	value    V
	made     R
	err      error
	panicked error
}

// add reports whether the batch is full.
func (b *batch[V, R]) add(v V, size int) bool {
	b.items = append(b.items, item[V, R]{value: v})
	b.bytes += size
	return len(b.items) == cap(b.items) || b.bytes >= aheadBytes
}

// each computes the items and yields what was made of them.
func (b *batch[V, R]) each(yield func(R, error) bool) bool {
	others := min(runtime.GOMAXPROCS(0), len(b.items)/aheadShare) - 1
	if others <= 0 {
		for i := range b.items {
			if !yield(b.f(b.items[i].value)) {
				return false
			}
		}
		return true
	}
	b.open.Add(len(b.items))
	b.invite(others)
	b.work()
	b.open.Wait()
	for i := range b.items {
		it := b.items[i]
		b.items[i] = item[V, R]{} // what was made of it is the loop's
		if it.panicked != nil {
			panic(it.panicked)
		}
		if !yield(it.made, it.err) {
			return false
		}
	}
	return true
}

// invite starts a helper, which invites the next one when it runs: where no processor is idle there
// is one that waits, not many.
func (b *batch[V, R]) invite(others int) {
	if others > 0 && len(b.items)-int(b.taken.Load()) >= aheadShare {
		b.helpers.Go(func() {
			b.invite(others - 1)
			b.work()
		})
	}
}

// work computes items until all are taken.
func (b *batch[V, R]) work() {
	for i := b.taken.Add(1); int(i) <= len(b.items); i = b.taken.Add(1) {
		b.compute(&b.items[i-1])
	}
}

func (b *batch[V, R]) compute(it *item[V, R]) {
	defer b.open.Done()
	it.panicked = ErrGoexit
	it.panicked = Safely("", func() error {
		it.made, it.err = b.f(it.value)
		return nil
	})
}
