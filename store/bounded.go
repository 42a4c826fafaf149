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

// An index function of a user runs on a goroutine beside the writer, which waits. When it
// has run for a second the writer goes on without it: the index is pending then, and misses what is
// written. The goroutine that was left behind asks about that, beside the writer, when the function
// has returned, until nothing is missing; see catchUp. So there is one call at a time of each function.
//
// A function that took long is on probation: the writer waits for it a tenth of a second only, until
// many calls in a row have taken less.

const (
	// brief is how long the writer waits for a function on probation.
	brief = 100 * time.Millisecond
	// probation is how many calls in a row must take less than that.
	probation = 100
)

// pending is what is known of an index that misses something.
type pending struct {
	since time.Time
	now   atomic.Pointer[question]
}

// question is one call of an index function.
type question struct {
	index string
	key   object.Key
	began time.Time
}

func newPending() *pending { return &pending{since: time.Now()} }

func (p *pending) err(of schema.GroupResource, index string, missing int) error {
	err := &IndexPendingError{Resource: of, Index: index, Since: p.since, Missing: missing}
	if q := p.now.Load(); q != nil {
		err.Key, err.Asked = q.key, q.began
	}
	return err
}

// bounded makes the calls of a writer.
type bounded struct {
	watch  *overdue.Watch[*asked]
	worker *worker // nil: there is none
	tasks  sync.WaitGroup
	closed atomic.Bool
}

// worker is a goroutine that asks for the writer. It ends when it has not been needed for a while.
type worker struct {
	state atomic.Uint32
	calls chan *asked   // nil: it is to end
	ready chan struct{} // the writer need not wait any more
}

const (
	workerFree = iota
	workerBusy
	workerEnded
)

// workerLingers is about how long a worker waits for the next call.
const workerLingers = 100 * time.Millisecond

// asked is a call that the writer waits for.
type asked struct {
	d      *definition
	e      *Entry
	by     *worker
	state  atomic.Uint32
	answer answer
	exited bool // the function has ended the goroutine

	// late is set when the writer does not wait any more. slot and id are of the record that the entry
	// became; they belong to whoever has the Core.
	late *pending
	slot uint32
	id   heap.ID
	// naming is the timer that names the call.
	naming *time.Timer
}

const (
	askedDone    = 1
	askedOverrun = 2
)

// ask asks an index about an entry, for the writer. If that takes too long it returns the call.
func (s *Store) ask(d *definition, e *Entry) (answer, *asked) {
	b := &s.bounded
	w := b.worker
	if w == nil || !w.state.CompareAndSwap(workerFree, workerBusy) {
		w = &worker{calls: make(chan *asked, 1), ready: make(chan struct{}, 1)}
		w.state.Store(workerBusy)
		b.worker = w
		b.tasks.Go(func() { s.work(w) })
	}
	a := &asked{d: d, e: e, by: w}
	w.calls <- a
	<-w.ready
	switch {
	case a.state.Load() == askedOverrun:
		b.worker = nil
		d.probation.Store(probation)
		return answer{}, a
	case a.exited:
		b.worker = nil
	}
	d.quick()
	return a.answer, nil
}

// quick says that a call took less than the writer waits for.
func (d *definition) quick() {
	if d.probation.Load() > 0 {
		d.probation.Add(-1)
	}
}

func (s *Store) work(w *worker) {
	idle := time.NewTicker(workerLingers)
	defer idle.Stop()
	for called := true; ; {
		select {
		case a := <-w.calls:
			if called = true; a == nil || s.serve(a) {
				return
			}
		case <-idle.C:
			if !called && w.state.CompareAndSwap(workerFree, workerEnded) {
				return
			}
			called = false
		}
	}
}

// serve makes one call. It reports whether the writer has not waited for it; then nothing is missing
// any more when it returns.
func (s *Store) serve(a *asked) (overran bool) {
	var short *time.Timer
	a.exited = true
	defer func() {
		if a.exited {
			a.answer.err = &IndexError{Index: a.d.name, Err: run.ErrGoexit}
		}
		if short != nil {
			short.Stop()
		}
		if a.state.CompareAndSwap(0, askedDone) {
			if short == nil {
				s.bounded.watch.End()
			}
			a.by.state.Store(workerFree)
			a.by.ready <- struct{}{}
			return
		}
		overran = true
		a.naming.Stop()
		s.fill(a.d, func() []learned { return []learned{{a.slot, a.id, a.answer}} })
		s.catchUp(a.d, a.late, s.bounded.closed.Load)
	}()
	if a.d.probation.Load() > 0 {
		began := time.Now()
		short = time.AfterFunc(brief, func() { s.overran(a, began) })
	} else {
		s.bounded.watch.Begin(a)
	}
	a.answer = a.d.ask(a.e)
	a.exited = false
	return false
}

// overran is told of a call that has run for too long: it has the writer go on.
func (s *Store) overran(a *asked, began time.Time) {
	late := &pending{since: time.Now()}
	q := &question{a.d.name, a.e.Key(), began}
	late.now.Store(q)
	a.late = late
	a.naming = time.AfterFunc(overdue.After-time.Since(began), func() { s.overdue(q, began) })
	if !a.state.CompareAndSwap(0, askedOverrun) {
		a.naming.Stop()
		return
	}
	a.by.ready <- struct{}{}
}

// overdue names a call that has run for long.
func (s *Store) overdue(q *question, began time.Time) {
	if s.core.opts.OnOverdue != nil {
		s.core.opts.OnOverdue(q.index, q.key, began)
	}
}

// fill takes over what an index said.
func (s *Store) fill(d *definition, all func() []learned) {
	s.mu.Lock()
	aside := s.fillLocked(d, all())
	s.mu.Unlock()
	s.tellAside(aside)
}

func (s *Store) fillLocked(d *definition, all []learned) (aside bool) {
	defer func() { s.current.Store(s.core.Snapshot()) }()
	return s.core.fill(d, all)
}

func (s *Store) tellAside(aside bool) {
	if aside && s.core.opts.OnAside != nil {
		s.core.opts.OnAside()
	}
}

// Close ends the goroutines of the store, which ask index functions. It waits for the call of each that
// runs, however long it takes. Indexes that are pending stay so. Nothing may be written afterwards; reads
// go on answering.
func (s *Store) Close() {
	s.bounded.closed.Store(true)
	s.do(func(*Core) {
		if w := s.bounded.worker; w != nil && w.state.CompareAndSwap(workerFree, workerBusy) {
			s.bounded.worker = nil
			w.calls <- nil
		}
	})
	s.bounded.tasks.Wait()
	s.bounded.watch.Stop()
}
