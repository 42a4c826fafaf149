package contend

import (
	"context"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flyball-io/flyball/lab/bench/contender"
)

const readersList = 20 // objects of a list

// readers reads for the given number of nanoseconds.
func (h *held) readers(arg string, r *Report) error {
	var long time.Duration
	if _, err := fmt.Sscan(arg, &long); err != nil {
		return err
	}
	j := h.job
	reads := []func(i int) error{
		func(i int) error { return h.Get(j.Keys[i%len(j.Keys)]) },
		func(i int) error { return contender.Header(h.Contender, j.Keys[i%len(j.Keys)]) },
	}
	if len(j.Values) > 0 { // not for kinds without a node or the label
		reads = append(reads, func(i int) error {
			v := j.Values[i%len(j.Values)]
			_, err := h.Some(v.Kind, v.Value, readersList)
			return err
		})
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var took, computed latencies
	usual := slices.Repeat([]time.Duration{time.Microsecond}, len(reads))
	began, from := time.Now(), max(h.arrivals.latest(), int64(j.First-1))
	handled := func() int64 { return h.arrivals.latest() - from }
	for i := 0; time.Since(began) < long || handled() == 0; i++ {
		if h.ended.Err() != nil {
			return context.Cause(h.ended)
		}
		for k, read := range reads {
			one, err := took.time(func() error { return read(i) })
			if err != nil {
				return err
			}
			if one > usual[k] { // approach the median in small steps
				usual[k] += usual[k] / 32
			} else {
				usual[k] -= usual[k] / 32
			}
			_, _ = computed.time(func() error { compute(usual[k]); return nil })
		}
	}
	r.Reads = map[string]Read{"events handled beside readers": {NS: float64(handled()) / time.Since(began).Seconds()}}
	took.report("read beside 50,000 events/s, ", r.Reads)
	computed.report("computing beside 50,000 events/s, ", r.Reads)
	return nil
}

// latencies are in nanoseconds.
type latencies struct {
	all      []int32
	withCore []int32 // of reads that kept their core
}

// time measures f.
func (l *latencies) time(f func() error) (time.Duration, error) {
	before := switches()
	began := time.Now()
	err := f()
	took := time.Since(began)
	ns := int32(min(took, 1<<31-1))
	l.all = append(l.all, ns)
	if switches() == before {
		l.withCore = append(l.withCore, ns)
	}
	return took, err
}

// switches returns how often this thread left its core. It works on Linux only, and returns 0
// elsewhere.
func switches() int64 {
	const thread = 1
	var ru unix.Rusage
	if err := unix.Getrusage(thread, &ru); err != nil {
		return 0
	}
	return ru.Nivcsw + ru.Nvcsw
}

func (l *latencies) report(name string, to map[string]Read) {
	for what, some := range map[string][]int32{"": l.all, " with a core": l.withCore} {
		if len(some) == 0 {
			continue
		}
		slices.Sort(some)
		for q, at := range map[string]float64{"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "longest": 1} {
			to[name+q+what] = Read{NS: float64(some[min(len(some)-1, int(at*float64(len(some))))]) / 1000}
		}
	}
	within, _ := slices.BinarySearch(l.all, int32(time.Millisecond)+1)
	to[name+"within 1 ms"] = Read{NS: 100 * float64(within) / float64(len(l.all))}
}

var (
	computeSeed = maphash.MakeSeed()
	computeText [64]byte
	// perHash is the shortest time of one hash.
	perHash = func() time.Duration {
		best := time.Hour
		for range 100 {
			begin := time.Now()
			for range 1000 {
				computeText[0] = byte(maphash.Bytes(computeSeed, computeText[:]))
			}
			best = min(best, time.Since(begin))
		}
		return best // the time of a thousand hashes in nanoseconds is that of one in picoseconds
	}()
)

// compute computes for about this long.
func compute(long time.Duration) {
	for range 1000 * long / perHash {
		computeText[0] = byte(maphash.Bytes(computeSeed, computeText[:]))
	}
}
