package life

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/run"
)

// stuck is a member that ends when the test releases it.
func stuck(let <-chan struct{}) func(context.Context) error {
	return func(context.Context) error {
		<-let
		return nil
	}
}

// Run returns when the bound of a phase has passed, and names the members that have not ended. It does not run
// again before they have.
func TestRunNamesMembersThatDoNotEnd(t *testing.T) {
	for p := range Phase(Phases) {
		t.Run(p.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, l := &journal{}, newLife()
				l.Bounds = [Phases]time.Duration{Lead: time.Minute, Always: time.Hour, Sync: 24 * time.Hour, Serve: time.Second}
				let := make(chan struct{})
				l.mustAdd(t, p, &runner{"well", log, nil})
				l.mustAdd(t, p, &runner{"stuck", log, stuck(let)})
				l.mustAdd(t, p, &runner{"stuck too", log, stuck(let)})
				l.mustAdd(t, Serve, &runner{"server", log, nil})
				stop := begun(l)
				began := time.Now()
				err := stop(nil)
				late, ok := errors.AsType[*lateError](err)
				if !ok || late.phase != p || late.after != l.Bounds[p] || !slices.Equal(late.names, []string{"stuck", "stuck too"}) {
					t.Fatalf("Run: %v", err)
				}
				if took := time.Since(began); took != l.Bounds[p] {
					t.Errorf("returned after %v", took)
				}
				if !strings.Contains(log.String(), "-server") || !strings.Contains(log.String(), "-well") {
					t.Errorf("the others did not end: %s", log)
				}
				err = begun(l)(nil)
				if !errors.Is(err, run.ErrRunning) || !strings.Contains(err.Error(), "stuck, stuck too") {
					t.Errorf("a run beside what is left: %v", err)
				}
				close(let)
				synctest.Wait()
				if err := begun(l)(nil); err != nil {
					t.Errorf("once all has ended: %v", err)
				}
			})
		})
	}
}

// polls is an election whose result the test sets.
type polls struct {
	log     *journal
	win     chan struct{}
	lose    chan error
	release time.Duration
	lost    func(error)
}

func newPolls(l *Life, log *journal) *polls {
	p := &polls{log: log, win: make(chan struct{}), lose: make(chan error, 1), lost: l.Lost}
	l.Elect = p.elect
	return p
}

// elect behaves as leader.Elector.Run does.
func (p *polls) elect(ctx context.Context, lead func(context.Context) error) error {
	select {
	case <-p.win:
	case <-ctx.Done():
		return nil
	}
	p.log.add("+lease")
	defer p.log.add("-lease")
	ended := make(chan error, 1)
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { ended <- lead(work) }()
	select {
	case err := <-p.lose:
		p.lost(err)
		cancel(err)
		<-ended
		return err
	case err := <-ended:
		time.Sleep(p.release)
		return err
	}
}

func TestLeadRunsOnTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, l := &journal{}, newLife()
		polls := newPolls(l, log)
		l.mustAdd(t, Always, &runner{"agent", log, nil})
		l.mustAdd(t, Lead, &runner{"controller", log, func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil
		}})
		stop := begun(l)
		l.mustAdd(t, Lead, &runner{"another", log, func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Minute)
			return nil
		}})
		time.Sleep(time.Hour)
		if log.String() != "+agent" || l.Ready() != nil {
			t.Errorf("on standby: %s, ready: %v", log, l.Ready())
		}
		polls.win <- struct{}{}
		synctest.Wait()
		if got := log.String(); len(strings.Fields(got)) != 4 {
			t.Errorf("leading: %s", got)
		}
		if err := stop(nil); err != nil {
			t.Error(err)
		}
		if got := log.String(); !strings.HasSuffix(got, "-controller -another -lease -agent") {
			t.Errorf("stopping: %s", got)
		}
		if err := begun(l)(nil); err != nil { // on standby, again
			t.Error(err)
		}
	})
}

func TestLostLeaseCancelsTheWork(t *testing.T) {
	lost := &leader.LostError{Reason: "not renewed in time"}
	for name, stopped := range map[string]bool{"in the middle": false, "while it stops": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, l := &journal{}, newLife()
				polls := newPolls(l, log)
				var told error
				l.mustAdd(t, Lead, &runner{"controller", log, func(ctx context.Context) error {
					<-ctx.Done()
					told = context.Cause(ctx)
					time.Sleep(time.Minute)
					return nil
				}})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := make(chan error, 1)
				if err := l.Begin(); err != nil {
					t.Fatal(err)
				}
				go func() { result <- l.Run(ctx) }()
				polls.win <- struct{}{}
				synctest.Wait()
				if stopped {
					cancel()
					synctest.Wait()
				}
				polls.lose <- lost
				synctest.Wait()
				if cause := context.Cause(l.term.abort); cause != lost {
					t.Errorf("reconciles were cancelled for %v", cause)
				}
				if err := <-result; err != lost {
					t.Errorf("Run: %v", err)
				}
				if want := error(lost); !stopped && told != want {
					t.Errorf("members were told %v", told)
				}
				if got := log.String(); got != "+lease +controller -controller -lease" {
					t.Error(got)
				}
				l.Finish()
			})
		})
	}
}

// The lease is held until the last member of Lead has ended, also beyond its bound. The error names the election
// then, too.
func TestTheLeaseOutlivesTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, l := &journal{}, newLife()
		polls := newPolls(l, log)
		l.Bounds[Lead] = time.Minute
		let := make(chan struct{})
		l.mustAdd(t, Lead, &runner{"stuck", log, stuck(let)})
		stop := begun(l)
		polls.win <- struct{}{}
		synctest.Wait()
		late, ok := errors.AsType[*lateError](stop(nil))
		if !ok || !slices.Equal(late.names, []string{"stuck", campaigning}) || strings.Contains(log.String(), "-lease") {
			t.Errorf("%v: %s", late, log)
		}
		if err := begun(l)(nil); !errors.Is(err, run.ErrRunning) || !strings.Contains(err.Error(), "stuck, "+campaigning) {
			t.Errorf("beside it: %v", err)
		}
		close(let)
		synctest.Wait()
		if !strings.HasSuffix(log.String(), "-stuck -lease") {
			t.Error(log)
		}

		polls.release = time.Hour // the server does not answer
		stop = begun(l)
		polls.win <- struct{}{}
		synctest.Wait()
		err := stop(nil)
		if late, ok := errors.AsType[*lateError](err); !ok || !slices.Equal(late.names, []string{campaigning}) {
			t.Errorf("a release that hangs: %v", err)
		}
		if err := begun(l)(nil); !errors.Is(err, run.ErrRunning) {
			t.Errorf("beside it: %v", err)
		}
		time.Sleep(time.Hour)
	})
}

func TestReadyWhenAllPhasesHaveStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		var seen []string
		look := func() {
			if err := l.Ready(); err != nil {
				seen = append(seen, err.Error())
				return
			}
			seen = append(seen, "ready")
		}
		l.Settled = func(context.Context, Phase) { look() }
		l.mustAdd(t, Serve, &runner{"server", &journal{}, func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			look()
			return nil
		}})
		look()
		stop := begun(l)
		look()
		stop(nil)
		look()
		want := []string{"does not run", "starts: in phase serve", "starts: in phase sync", "starts: in phase always", "starts: in phase lead", "ready", "stops", "does not run"}
		if !slices.Equal(seen, want) {
			t.Errorf("got  %q\nwant %q", seen, want)
		}
	})
}

// The lease is lost and a member does not end: the error of Run has both.
func TestLostLeaseAndHangingWorkAreBothInTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, l := &journal{}, newLife()
		polls := newPolls(l, log)
		l.Bounds[Lead] = time.Minute
		let := make(chan struct{})
		l.mustAdd(t, Lead, &runner{"stuck", log, stuck(let)})
		if err := l.Begin(); err != nil {
			t.Fatal(err)
		}
		result := make(chan error, 1)
		go func() { result <- l.Run(context.Background()) }()
		polls.win <- struct{}{}
		lost := &leader.LostError{Reason: "deleted"}
		polls.lose <- lost
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case err := <-result:
			if late, ok := errors.AsType[*lateError](err); !ok || !errors.Is(err, lost) || !slices.Equal(late.names, []string{"stuck", campaigning}) {
				t.Errorf("Run: %v", err)
			}
		default:
			t.Error("Run does not return")
		}
		close(let)
	})
}

// An election that cannot begin stops the manager.
func TestFailedElectionStopsTheManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, l := &journal{}, newLife()
		broken := errors.New("broken")
		l.Elect = func(context.Context, func(context.Context) error) error { return broken }
		l.mustAdd(t, Always, &runner{"agent", log, nil})
		if err := l.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := l.Run(context.Background()); err != broken || log.String() != "+agent -agent" {
			t.Errorf("Run: %v, %s", err, log)
		}
	})
}
