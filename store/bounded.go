package store

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/internal/overdue"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

// Each call of a user's index function has a goroutine beside the writer, which waits. After a
// second the writer goes on without the answer. The index is pending from then on, and misses the
// entries written in the meantime. When the function returns, its goroutine asks about those
// entries beside the writer, until none is missing; see catchUp. So each function has one call at a
// time.
//
// A function that ran for so long is on probation. The writer then waits only a tenth of a second
// for it, until many calls in a row have taken less.

const (
	// brief is how long the writer waits for a function on probation.
	brief = 100 * time.Millisecond
	// probation is the number of calls in a row that must take less than brief to end it.
	probation = 100
)

// pendingIndex describes an index that misses entries.
type pendingIndex struct {
	since   time.Time
	current atomic.Pointer[indexCall]
}

// indexCall is one call of an index function.
type indexCall struct {
	index string
	key   object.Key
	began time.Time
}

func newPendingIndex() *pendingIndex { return &pendingIndex{since: time.Now()} }

func (p *pendingIndex) err(of schema.GroupResource, index string, missing int) error {
	err := &IndexPendingError{Resource: of, Index: index, Since: p.since, Missing: missing}
	if q := p.current.Load(); q != nil {
		err.Key, err.Asked = q.key, q.began
	}
	return err
}

// bounded makes the index calls of the writer, with a time limit.
type bounded struct {
	watch  *overdue.Watch[*boundedCall]
	tasks  sync.WaitGroup
	ready  chan struct{} // the writer need not wait for its call any more
	closed atomic.Bool
}

// boundedCall is a call that the writer waits for.
type boundedCall struct {
	d      *definition
	e      *Entry
	state  atomic.Uint32
	answer answer
	exited bool // the function ended the goroutine

	// pending is set when the writer stops waiting. slot and id identify the record of the entry; the
	// holder of the core guards them.
	pending *pendingIndex
	slot    uint32
	id      heap.ID
	// naming is the timer that reports the call as overdue.
	naming *time.Timer
}

const (
	callDone    = 1
	callOverrun = 2
)

// ask asks an index about an entry, for the writer. A call that takes too long is returned instead
// of its answer.
func (s *Store) ask(d *definition, e *Entry) (answer, *boundedCall) {
	a := &boundedCall{d: d, e: e}
	s.bounded.tasks.Go(func() { s.serve(a) })
	<-s.bounded.ready
	if a.state.Load() == callOverrun {
		d.probation.Store(probation)
		return answer{}, a
	}
	d.countQuick()
	return a.answer, nil
}

// countQuick counts a call that took less time than the writer waits.
func (d *definition) countQuick() {
	if d.probation.Load() > 0 {
		d.probation.Add(-1)
	}
}

// serve makes one call. If the writer stopped waiting for it, the index misses nothing when serve
// returns, unless the store is closed.
func (s *Store) serve(a *boundedCall) {
	var short *time.Timer
	a.exited = true
	defer func() {
		if a.exited {
			a.answer.err = &IndexError{Index: a.d.name, Err: run.ErrGoexit}
		}
		if short != nil {
			short.Stop()
		}
		if a.state.CompareAndSwap(0, callDone) {
			if short == nil {
				s.bounded.watch.End()
			}
			s.bounded.ready <- struct{}{}
			return
		}
		a.naming.Stop()
		s.fill(a.d, func() []slotAnswer { return []slotAnswer{{a.slot, a.id, a.answer}} })
		s.catchUp(a.d, a.pending, s.bounded.closed.Load)
	}()
	if a.d.probation.Load() > 0 {
		began := time.Now()
		short = time.AfterFunc(brief, func() { s.onOverrun(a, began) })
	} else {
		s.bounded.watch.Begin(a)
	}
	growStack(0) // for decoders: a new stack grows by doubling, and each time it is copied
	a.answer = a.d.ask(a.e)
	a.exited = false
}

//go:noinline
func growStack(i int) byte {
	var room [16 << 10]byte
	return room[i]
}

// onOverrun runs when a call has taken too long: it lets the writer go on.
func (s *Store) onOverrun(a *boundedCall, began time.Time) {
	q := &indexCall{a.d.name, a.e.Key(), began}
	a.pending = newPendingIndex()
	a.pending.current.Store(q)
	a.naming = time.AfterFunc(overdue.After-time.Since(began), func() { s.reportOverdue(q, began) })
	if !a.state.CompareAndSwap(0, callOverrun) {
		a.naming.Stop()
		return
	}
	s.bounded.ready <- struct{}{}
}

// reportOverdue reports a call that has run for a second.
func (s *Store) reportOverdue(q *indexCall, began time.Time) {
	if s.core.opts.OnOverdue != nil {
		s.core.opts.OnOverdue(q.index, q.key, began)
	}
}

// fill stores the answers of an index.
func (s *Store) fill(d *definition, all func() []slotAnswer) {
	s.mu.Lock()
	any := s.fillLocked(d, all())
	s.mu.Unlock()
	s.reportRejected(any)
}

func (s *Store) fillLocked(d *definition, all []slotAnswer) (any bool) {
	defer func() { s.current.Store(s.core.Snapshot()) }()
	return s.core.fill(d, all)
}

func (s *Store) reportRejected(any bool) {
	if any && s.core.opts.OnRejected != nil {
		s.core.opts.OnRejected()
	}
}

// Close ends the goroutines that call index functions. It waits for each running call, however long
// that takes. Pending indexes stay pending. Nothing may be written afterwards; reads go on.
func (s *Store) Close() {
	s.bounded.closed.Store(true)
	s.do(func(*core) {}) // a write that runs has made its calls
	s.bounded.tasks.Wait()
	s.bounded.watch.Stop()
}
