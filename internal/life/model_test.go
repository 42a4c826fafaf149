package life

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
	"github.com/flyball-io/flyball/ops/leader"
)

// plan is one run of a life, drawn at random. Times are from its begin; zero: never.
type plan struct {
	members []part
	elects  bool
	win     time.Duration
	lose    time.Duration // after it has won
	settle  time.Duration // how long each phase delays the next one
	stop    time.Duration
}

type part struct {
	phase Phase
	added time.Duration // zero: before
	ends  time.Duration // by itself, after it was started
	fails bool          // when it ends by itself
	drain time.Duration // how long it takes to end after it was told to stop
	close time.Duration
}

func draw(t *rapid.T) plan {
	ms := func(name string) time.Duration {
		return time.Duration(rapid.IntRange(0, 20).Draw(t, name)) * time.Millisecond
	}
	p := plan{
		elects: rapid.Bool().Draw(t, "elects"), win: ms("win"), lose: ms("lose"), settle: ms("settle"),
		stop: 5*time.Millisecond + 3*ms("stop"),
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "members") {
		n := func(s string) string { return fmt.Sprint(s, " of ", i) }
		p.members = append(p.members, part{
			phase: Phase(rapid.IntRange(0, Phases-1).Draw(t, n("phase"))), added: ms(n("added")),
			ends: ms(n("end")), fails: rapid.IntRange(0, 3).Draw(t, n("fails")) == 0, drain: ms(n("drain")), close: ms(n("close")),
		})
	}
	return p
}

// trace records the events of a run, in order, and the violations.
type trace struct {
	mu      sync.Mutex
	settled [Phases]bool
	runs    map[Phase]int // members that run
	led     bool          // the lease is held
	failed  []error
	faults  []string
}

func (tr *trace) note(f func()) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	f()
}

func (tr *trace) fault(format string, args ...any) {
	tr.faults = append(tr.faults, fmt.Sprintf(format, args...))
}

// live runs the plan in a bubble and checks it.
func (p plan) live(t *testing.T) []string {
	tr := &trace{runs: map[Phase]int{}}
	lost := &leader.LostError{Reason: "taken by another"}
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.Settled = func(ctx context.Context, ph Phase) {
			sleep(ctx, p.settle)
			if ctx.Err() == nil {
				tr.note(func() { tr.settled[ph] = true })
			}
		}
		if p.elects {
			l.Elect = p.elect(tr, l, lost)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		time.AfterFunc(p.stop, cancel)
		if err := l.Begin(); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for i, m := range p.members {
			if m.added == 0 {
				p.join(t, l, tr, i, m, &wait)
				continue
			}
			wait.Go(func() {
				time.Sleep(m.added)
				p.join(t, l, tr, i, m, &wait)
			})
		}
		err := l.Run(ctx)
		tr.note(func() {
			for ph, n := range tr.runs {
				if n != 0 {
					tr.fault("%d of phase %v run after Run has returned %v", n, ph, err)
				}
			}
			for _, f := range tr.failed {
				if !errors.Is(err, f) {
					tr.fault("%v is not in %v", f, err)
				}
			}
			if len(tr.failed) == 0 && err != nil {
				tr.fault("Run: %v", err)
			}
		})
		l.Finish()
		wait.Wait()
	})
	return tr.faults
}

// join adds a member and, in time, closes it.
func (p plan) join(t *testing.T, l *Life, tr *trace, i int, m part, wait *sync.WaitGroup) {
	c, err := l.Add(m.phase, fmt.Sprint("member ", i), func(ctx context.Context) error { return m.live(ctx, tr, p.elects) })
	if err != nil {
		t.Fatal(err)
	}
	if m.close > 0 && !m.fails { // Close returns the error of a closed member
		wait.Go(func() {
			time.Sleep(m.close)
			c.Close()
		})
	}
}

func (m part) live(ctx context.Context, tr *trace, elects bool) error {
	tr.note(func() {
		for ph := range m.phase {
			if !tr.settled[ph] {
				tr.fault("phase %v starts, and %v has not settled", m.phase, ph)
			}
		}
		if m.phase == Lead && elects && !tr.led {
			tr.fault("works without the lease")
		}
		tr.runs[m.phase]++
	})
	defer tr.note(func() { tr.runs[m.phase]-- })
	if m.ends > 0 && sleep(ctx, m.ends) {
		if !m.fails {
			return nil
		}
		err := errors.New("fails")
		tr.note(func() { tr.failed = append(tr.failed, err) })
		return err
	}
	<-ctx.Done()
	if context.Cause(ctx) != ErrClosed {
		tr.note(func() {
			for ph := m.phase + 1; ph < Phases; ph++ {
				if tr.runs[ph] > 0 {
					tr.fault("phase %v is told to stop, and %v still runs", m.phase, ph)
				}
			}
		})
	}
	time.Sleep(m.drain)
	return nil
}

func (p plan) elect(tr *trace, l *Life, lost error) func(context.Context, func(context.Context) error) error {
	return func(ctx context.Context, lead func(context.Context) error) error {
		if p.win == 0 || !sleep(ctx, p.win) {
			<-ctx.Done()
			return nil
		}
		tr.note(func() { tr.led = true })
		defer tr.note(func() {
			if tr.led = false; tr.runs[Lead] > 0 {
				tr.fault("the lease is released, and %d still work", tr.runs[Lead])
			}
		})
		work, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		ended := make(chan error, 1)
		go func() { ended <- lead(work) }()
		var lose <-chan time.Time
		if p.lose > 0 {
			lose = time.After(p.lose)
		}
		select {
		case err := <-ended:
			return err
		case <-lose:
			tr.note(func() { tr.failed = append(tr.failed, lost) })
			l.Lost(lost)
			cancel(lost)
			<-ended
			return lost
		}
	}
}

// sleep reports whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// For random members and stops: phases start in order and stop in reverse, the lease is held while a member of Lead
// runs, no member runs after Run, and every failure is in its error.
func TestRandomLivesKeepTheOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		if faults := draw(rt).live(t); len(faults) > 0 {
			rt.Fatalf("%q", faults)
		}
	})
}
