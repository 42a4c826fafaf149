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
// has returned, until nothing is missing. So there is one call at a time of each function.

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
		return answer{}, a
	case a.exited:
		b.worker = nil
	}
	return a.answer, nil
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
	a.exited, a.answer.err = true, &IndexError{Index: a.d.name, Err: run.ErrGoexit}
	defer func() {
		if a.state.CompareAndSwap(0, askedDone) {
			s.bounded.watch.End()
			a.by.state.Store(workerFree)
			a.by.ready <- struct{}{}
			return
		}
		overran = true
		s.fill(a.d, func() []learned { return []learned{{a.slot, a.id, a.answer}} })
		s.catchUp(a.d, a.late, func() bool { return s.bounded.closed.Load() })
	}()
	s.bounded.watch.Begin(a)
	a.answer = a.d.ask(a.e)
	a.exited = false
	return false
}

// overran is told of a call that has run for long: it has the writer go on.
func (s *Store) overran(a *asked, began time.Time) {
	late := &pending{since: time.Now()}
	q := &question{a.d.name, a.e.Key(), began}
	late.now.Store(q)
	a.late = late
	if !a.state.CompareAndSwap(0, askedOverrun) {
		return
	}
	a.by.ready <- struct{}{}
	s.overdue(q, began)
}

// overdue names a call that has run for long.
func (s *Store) overdue(q *question, began time.Time) {
	if s.core.opts.OnOverdue != nil {
		s.core.opts.OnOverdue(q.index, q.key, began)
	}
}

// catchUp asks an index about what it misses until that is nothing, or it is to stop. Only where the
// records are those of an open transaction the writer waits for it, to load some.
func (s *Store) catchUp(d *definition, late *pending, stop func() bool) {
	watch := overdue.New(s.overdue)
	defer watch.Stop()
	ask := func(e *Entry) answer {
		q := &question{d.name, e.key, time.Now()}
		late.now.Store(q)
		watch.Begin(q)
		defer watch.End()
		return d.ask(e)
	}
	const few = 64
	for n := int(few); !stop(); n = min(2*n, mostAsked) {
		all := s.Snapshot().ask(d, n, ask)
		whole := false
		if len(all) == 0 {
			var open []learned
			var entries []*Entry
			s.do(func(c *Core) {
				if whole = c.whole(d); !whole && c.work != nil {
					open = c.work.ask(d, few, func(e *Entry) answer {
						entries = append(entries, e)
						return answer{}
					})
				}
			})
			for i, e := range entries {
				open[i].answer = ask(e)
			}
			all = open
		}
		late.now.Store(nil)
		if whole {
			return
		}
		s.fill(d, func() []learned { return all })
	}
}

// fill takes over what an index said.
func (s *Store) fill(d *definition, all func() []learned) {
	aside := false
	s.do(func(c *Core) { aside = c.fill(d, all()) })
	if aside && s.core.opts.OnAside != nil {
		s.core.opts.OnAside()
	}
}

// Close ends the goroutines of the store: those that ask index functions about what was written while
// one of them did not return. It waits for a call that runs, however long it takes. Indexes that are
// pending stay so. Nothing may be written afterwards; reads go on answering.
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
