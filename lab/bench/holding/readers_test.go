package holding

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/store"
)

const (
	eventsRate  = 50_000 // a second
	eventsBurst = 50     // each a commit of the writer
)

// BenchmarkReaders measures a read beside a writer at 50,000 events a second, in one process. No
// server or network competes for the cores. The writer does an informer's work for each event: it
// cuts managedFields, scans the header, packs and publishes. The reader reads at full speed, in
// turn the object of a key into a Pod and the header of another. "kept" counts the reads during
// which the reader kept its core.
func BenchmarkReaders(b *testing.B) {
	s := samples()[0]
	k := &wire.Kind{GVK: s.gvk(), Scheme: scheme.New()}
	held := store.New(store.Options{})
	txn := held.Begin()
	txn.Replace()
	var keys []object.Key
	for _, raw := range s.listed(b, k, s.Len()) {
		e := s.entry(b, raw)
		keys = append(keys, e.Key())
		txn.Put(e)
	}
	txn.Sweep()
	txn.Commit()
	feed := newFeed(b, s, k)

	done := make(chan struct{})
	var wg sync.WaitGroup
	var written int
	began := time.Now()
	wg.Go(func() {
		tick := time.NewTicker(time.Second * eventsBurst / eventsRate)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			for due := int(time.Since(began).Seconds() * eventsRate); written < due; written += eventsBurst {
				txn := held.Begin()
				for range eventsBurst {
					e, err := store.NewEntry(wire.CutManagedFields(nil, feed.next()))
					if err != nil {
						panic(err)
					}
					txn.Put(e)
				}
				for range txn.Commit().All() {
				}
			}
		}
	})

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, kept []time.Duration
	pod := new(corev1.Pod)
	for i := 0; b.Loop(); i++ {
		key := keys[i*7919%len(keys)]
		before, start := switches(), time.Now()
		e, ok := held.Snapshot().Lookup(key)
		if !ok {
			b.Fatal(key)
		}
		if i%2 == 0 {
			*pod = corev1.Pod{}
			if err := e.Decode(pod); err != nil {
				b.Fatal(err)
			}
		} else if e.Header().Name != key.Name {
			b.Fatal(key)
		}
		took := time.Since(start)
		all = append(all, took)
		if switches() == before {
			kept = append(kept, took)
		}
	}
	close(done)
	wg.Wait()
	b.ReportMetric(float64(written)/time.Since(began).Seconds(), "events/s")
	for name, some := range map[string][]time.Duration{"": all, "-kept": kept} {
		slices.Sort(some)
		at := func(q float64) float64 { return some[int(q*float64(len(some)-1))].Seconds() * 1e6 }
		b.ReportMetric(at(0.999), "p99.9-µs"+name)
		b.ReportMetric(at(1), "longest-µs"+name)
		over := len(some) - searchOver(some, time.Millisecond)
		b.ReportMetric(float64(over), "over-1ms"+name)
	}
}

func searchOver(sorted []time.Duration, d time.Duration) int {
	n, _ := slices.BinarySearch(sorted, d+1)
	return n
}

// switches returns how often this thread left its core.
func switches() int64 {
	const thread = 1
	var ru unix.Rusage
	if unix.Getrusage(thread, &ru) != nil {
		return 0
	}
	return ru.Nivcsw + ru.Nvcsw
}

// feed is an endless sequence of changes. Their bytes are outside the heap, like those of a
// connection.
type feed struct {
	raws    []wire.Raw
	digits  [][]byte // of the version in each
	version int
	n       int
}

func newFeed(b *testing.B, s sample, k *wire.Kind) *feed {
	const changes = 10_000
	f := &feed{}
	churn := s.Churn(changes)
	for i := range changes {
		o := churn.Object(i)
		o.SetResourceVersion(fmt.Sprint(corpus.Version(s) + 1 + i))
		raw := s.raw(b, k, o)
		h, err := raw.Header()
		if err != nil {
			b.Fatal(err)
		}
		mem, err := unix.Mmap(-1, 0, len(raw.Bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { unix.Munmap(mem) })
		copy(mem, raw.Bytes)
		at := bytes.Index(mem, []byte(h.ResourceVersion))
		raw.Bytes = mem
		f.raws, f.digits = append(f.raws, raw), append(f.digits, mem[at:at+len(h.ResourceVersion)])
		var v int
		fmt.Sscan(h.ResourceVersion, &v)
		f.version = max(f.version, v)
	}
	return f
}

// next returns the next change. It invalidates the previous one.
func (f *feed) next() wire.Raw {
	i := f.n % len(f.raws)
	f.n++
	f.version++
	v := f.version
	for d := f.digits[i]; len(d) > 0; d = d[:len(d)-1] {
		d[len(d)-1] = byte('0' + v%10)
		v /= 10
	}
	return f.raws[i]
}
