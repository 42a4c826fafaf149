package queue

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// unique is the number of keys of cached objects that wait at once.
const unique = 400_000

// cachedKeys returns keys as a cache holds them, with shared namespaces and unique names.
func cachedKeys(n int) []key {
	namespaces := make([]string, 50)
	for i := range namespaces {
		namespaces[i] = fmt.Sprintf("namespace-%d", i)
	}
	keys := make([]key, n)
	for i := range keys {
		keys[i] = key{Namespace: namespaces[i%len(namespaces)], Name: fmt.Sprintf("app-%d-7d4b9c6f58-%05x", i%5000, i)}
	}
	return keys
}

// each runs f with every contender in turn.
func each(b *testing.B, f func(b *testing.B, q contender)) {
	for _, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			q := c.open(b)
			defer q.close()
			b.ReportAllocs()
			f(b, q)
		})
	}
}

// The same key is used repeatedly: one op is Add, Get and Done.
func BenchmarkOneKey(b *testing.B) {
	k := cachedKeys(1)[0]
	each(b, func(b *testing.B, q contender) {
		for b.Loop() {
			q.add(k, 0)
			q.done(q.get())
		}
	})
}

// Each of 400,000 keys is added, taken and done before the next, so the queue is nearly always
// empty.
func BenchmarkPipelined(b *testing.B) {
	keys := cachedKeys(unique)
	each(b, func(b *testing.B, q contender) {
		for i := 0; b.Loop(); i++ {
			q.add(keys[i%unique], i%10)
			q.done(q.get())
		}
	})
}

// 400,000 keys are added, one by one or, if the queue supports it, a hundred at a time; then all
// are taken and done. One op is that with all keys; ns/key is Add, Get and Done of one. A new queue
// grows while it is filled, a used one has its memory. cpu-ns/key is the CPU time of the process,
// collector included: the steadier figure on a shared machine.
func BenchmarkFillAndDrain(b *testing.B) {
	keys := cachedKeys(unique)
	for _, again := range []bool{false, true} {
		for _, priorities := range []int{1, 10} {
			for _, c := range contenders {
				for _, together := range []int{1, 100} {
					name := fmt.Sprintf("used=%v/priorities=%d/together=%d/%s", again, priorities, together, c.name)
					q := c.open(b)
					_, can := q.(adder)
					q.close()
					if together > 1 && !can {
						continue
					}
					b.Run(name, func(b *testing.B) {
						round := filling{keys: keys, priorities: priorities, together: together}
						q := c.open(b)
						if again {
							round.run(q)
						}
						runtime.GC()
						b.ReportAllocs()
						began := cpu()
						b.ResetTimer()
						for range b.N {
							if !again {
								q.close()
								q = c.open(b)
							}
							round.run(q)
						}
						n := float64(b.N) * unique
						b.ReportMetric(float64(b.Elapsed())/n, "ns/key")
						b.ReportMetric(float64(cpu()-began)/n, "cpu-ns/key")
						q.close()
					})
				}
			}
		}
	}
}

type filling struct {
	keys                 []key
	priorities, together int
}

func (f filling) run(q contender) {
	if f.together > 1 {
		for i := 0; i < len(f.keys); i += f.together {
			q.(adder).addAll(f.keys[i:min(i+f.together, len(f.keys))], f.priorities)
		}
	} else {
		for i, k := range f.keys {
			q.add(k, i%f.priorities)
		}
	}
	take(q, len(f.keys))
}

// take gets n keys one after the other, and finishes each, as a worker does.
func take(q contender, n int) {
	k := q.get()
	for range n - 1 {
		if w, can := q.(nexter); can {
			k = w.next(k)
		} else {
			q.done(k)
			k = q.get()
		}
	}
	q.done(k)
}

// queued-B/key is the growth of the heap per key when all keys wait.
func BenchmarkQueued(b *testing.B) {
	keys := cachedKeys(unique)
	for _, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				q := c.open(b)
				before := heap()
				for i, k := range keys {
					q.add(k, i%10)
				}
				q.settle(len(keys))
				b.ReportMetric(float64(heap()-before)/unique, "queued-B/key")
				for range keys {
					q.done(q.get())
				}
				q.close()
			}
		})
	}
}

// 100 producers add 400,000 keys between them, while four workers take them.
func BenchmarkProducers(b *testing.B) {
	const producers, workers = 100, 4
	keys := cachedKeys(unique)
	each(b, func(b *testing.B, q contender) {
		for left := b.N; left > 0; left -= unique {
			n := min(left, unique)
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					for range (n + w) / workers {
						q.done(q.get())
					}
				})
			}
			for p := range producers {
				all.Go(func() {
					for i := p; i < n; i += producers {
						q.add(keys[i], i%10)
					}
				})
			}
			all.Wait()
		}
	})
}

// 400,000 keys are added with delays of up to 100 ms, and each is taken and done when it is due.
// One op is one key; it cannot be below the delay over the number of keys (0.25 µs).
func BenchmarkDelayed(b *testing.B) {
	keys := cachedKeys(unique)
	each(b, func(b *testing.B, q contender) {
		for left := b.N; left > 0; left -= unique {
			n := min(left, unique)
			for i, k := range keys[:n] {
				q.addAfter(k, time.Duration(1+i*7919%n)*100*time.Millisecond/time.Duration(n))
			}
			for range n {
				q.done(q.get())
			}
		}
	})
}

// heap returns the live bytes of the heap.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// cpu returns the CPU time of the process in nanoseconds.
func cpu() int64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
