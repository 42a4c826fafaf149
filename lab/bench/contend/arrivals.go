package contend

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"sync/atomic"
	"time"
)

// arrivals records the events that a contender has handled. One goroutine of each kind writes,
// another one reads.
type arrivals struct {
	first   int            // the version of event 0
	times   []atomic.Int64 // wall clock time of each event's handling; zero: not yet
	initial atomic.Int64   // number of objects of the first list that were handled
	highest []atomic.Int64 // of each kind: the version of the last event so far
	more    chan struct{}
	// The waiting goroutine is woken when initial has reached enough, or when a kind has reached its
	// last. A wake-up for each event would cost as much as some contenders need to handle it.
	enough atomic.Int64
	last   []atomic.Int64
}

func newArrivals(kinds, first, events int) *arrivals {
	return &arrivals{
		first: first, times: make([]atomic.Int64, events), more: make(chan struct{}, 1),
		highest: make([]atomic.Int64, kinds), last: make([]atomic.Int64, kinds),
	}
}

// never is larger than any number of objects and any version.
const never = math.MaxInt64

// record records that a version of a kind was handled.
func (a *arrivals) record(kind int, version string) {
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
		highest := &a.highest[kind]
		if int64(v) > highest.Load() {
			highest.Store(int64(v))
		}
		if highest.Load() < a.last[kind].Load() {
			return
		}
	}
	select {
	case a.more <- struct{}{}:
	default:
	}
}

// await returns when a condition holds, or with the error of a contender that has ended. The
// condition cannot change before initial objects of the first list were handled, or a kind has
// reached its last version.
func (a *arrivals) await(ended context.Context, initial int64, last []int64, holds func() bool) error {
	a.enough.Store(initial)
	for kind := range a.last {
		a.last[kind].Store(never)
		if last != nil {
			a.last[kind].Store(last[kind])
		}
	}
	for !holds() {
		select {
		case <-a.more:
		case <-ended.Done():
			return context.Cause(ended)
		}
	}
	return nil
}

// handled returns a condition: these events were handled.
func (a *arrivals) handled(events []int) func() bool {
	return func() bool {
		for len(events) > 0 && a.times[events[0]].Load() != 0 {
			events = events[1:]
		}
		return len(events) == 0
	}
}

// reached returns a condition: each kind has handled a version that is at least this.
func (a *arrivals) reached(last []int64) func() bool {
	return func() bool {
		for kind := range last {
			if a.highest[kind].Load() < last[kind] {
				return false
			}
		}
		return true
	}
}

// latest returns the highest version of all kinds so far.
func (a *arrivals) latest() int64 {
	var latest int64
	for kind := range a.highest {
		latest = max(latest, a.highest[kind].Load())
	}
	return latest
}

func (a *arrivals) encode() []byte {
	var b []byte
	for i := range a.times {
		b = binary.LittleEndian.AppendUint64(b, uint64(a.times[i].Load()))
	}
	return b
}
