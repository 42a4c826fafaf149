package contend

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"sync/atomic"
	"time"
)

// arrivals records the events that a contender has handled. One goroutine writes, another reads.
type arrivals struct {
	first   int            // the version of event 0
	times   []atomic.Int64 // wall clock time of each event's handling; zero: not yet
	initial atomic.Int64   // number of objects of the first list that were handled
	highest atomic.Int64   // the version of the last event so far
	more    chan struct{}
	// The waiting goroutine is woken from these values of initial and highest on. A wake-up for
	// each event would cost as much as some contenders need to handle it.
	enough, last atomic.Int64
}

func newArrivals(first, events int) *arrivals {
	return &arrivals{first: first, times: make([]atomic.Int64, events), more: make(chan struct{}, 1)}
}

// never is larger than any number of objects and any version.
const never = math.MaxInt64

// tell records that a version was handled.
func (a *arrivals) tell(version string) {
	now := time.Now().UnixNano()
	v, _ := strconv.Atoi(version)
	if v < a.first {
		if a.initial.Add(1) < a.enough.Load() {
			return
		}
	} else {
		if v < a.first+len(a.times) {
			a.times[v-a.first].Store(now)
		}
		if int64(v) > a.highest.Load() {
			a.highest.Store(int64(v))
		}
		if a.highest.Load() < a.last.Load() {
			return
		}
	}
	select {
	case a.more <- struct{}{}:
	default:
	}
}

// await returns when a condition holds, or with the error of a contender that has ended. The
// condition cannot hold before initial objects of the first list and this version were handled.
func (a *arrivals) await(ended context.Context, initial, version int64, holds func() bool) error {
	a.enough.Store(initial)
	a.last.Store(version)
	for !holds() {
		select {
		case <-a.more:
		case <-ended.Done():
			return context.Cause(ended)
		}
	}
	return nil
}

// handled returns a condition: the events from one to before another were handled.
func (a *arrivals) handled(from, to int) func() bool {
	return func() bool {
		for from < to && a.times[from].Load() != 0 {
			from++
		}
		return from >= to
	}
}

func (a *arrivals) encode() []byte {
	var b []byte
	for i := range a.times {
		b = binary.LittleEndian.AppendUint64(b, uint64(a.times[i].Load()))
	}
	return b
}
