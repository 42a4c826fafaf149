package life

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
)

// runner is a member that records its start and end.
type runner struct {
	name string
	log  *journal
	// work is called by Run between the two; nil: wait for ctx.
	work func(ctx context.Context) error
}

func (r *runner) Run(ctx context.Context) error {
	r.log.add("+" + r.name)
	defer r.log.add("-" + r.name)
	if r.work != nil {
		return r.work(ctx)
	}
	<-ctx.Done()
	return nil
}

type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, " ")
}

func newLife() *Life {
	return &Life{
		Logger: slog.New(slog.DiscardHandler), Aborted: controller.WithAbort,
		Late:    func(p Phase, after time.Duration, names []string) error { return &lateError{p, after, names} },
		InOrder: func(cause error) bool { return cause == context.Canceled || cause == errAsked },
	}
}

// errAsked is a cause of an end in good order.
var errAsked = errors.New("asked to end")

// lateError is the error of a phase whose bound has passed.
type lateError struct {
	phase Phase
	after time.Duration
	names []string
}

func (e *lateError) Error() string { return fmt.Sprint(e.phase, e.after, e.names) }

func (l *Life) mustAdd(t *testing.T, p Phase, r *runner) io.Closer {
	t.Helper()
	c, err := l.Add(p, r.name, r.Run)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// begun runs l in the bubble. stop ends it with a cause, and returns the error of run.
func begun(l *Life) (stop func(cause error) error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	result := make(chan error, 1)
	go func() {
		if err := l.Begin(); err != nil {
			result <- err
			return
		}
		err := l.Run(ctx)
		l.Finish()
		result <- err
	}()
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
	return func(cause error) error {
		cancel(cause)
		return <-result
	}
}

func TestPhasesStartInOrderAndStopInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, l := &journal{}, newLife()
		l.Settled = func(_ context.Context, p Phase) {
			time.Sleep(time.Millisecond) // the members of the phase start
			log.add(p.String())
		}
		slow := func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil
		}
		l.mustAdd(t, Lead, &runner{"controller", log, slow})
		l.mustAdd(t, Always, &runner{"agent", log, slow})
		l.mustAdd(t, Serve, &runner{"webhook", log, nil})
		l.mustAdd(t, Sync, &runner{"cache", log, slow})
		for range 2 { // a manager can run again
			stop := begun(l)
			if err := stop(nil); err != nil {
				t.Error(err)
			}
		}
		once := "+webhook serve +cache sync +agent always +controller lead -controller -agent -cache -webhook"
		if want := once + " " + once; log.String() != want {
			t.Errorf("got  %s\nwant %s", log, want)
		}
	})
}

func TestRunReturnsTheCause(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		work  func(ctx context.Context) error
		cause error // the test stops the run with this; nil: a plain cancel
		want  error
		says  string
	}{
		"cancelled":                {},
		"in good order":            {cause: errAsked},
		"another cause":            {cause: broken, want: broken, says: "broken"},
		"a deadline":               {cause: context.DeadlineExceeded, want: context.DeadlineExceeded, says: "context deadline exceeded"},
		"a member ends early":      {work: func(context.Context) error { return nil }},
		"a member returns its ctx": {work: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
		"a member wraps its cause": {work: func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("reading: %w", context.Cause(ctx))
		}, cause: broken, want: broken, says: "broken"},
		"a member fails":        {work: func(context.Context) error { return broken }, want: broken, says: "member: broken"},
		"a member panics":       {work: func(context.Context) error { panic(broken) }, want: broken, says: "member: panic: broken"},
		"a member stops badly":  {work: func(ctx context.Context) error { <-ctx.Done(); return broken }, want: broken, says: "member: broken"},
		"fails for two reasons": {work: func(ctx context.Context) error { <-ctx.Done(); return broken }, cause: io.EOF, want: broken, says: "EOF\nmember: broken"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, l := &journal{}, newLife()
				l.mustAdd(t, Lead, &runner{"member", log, tc.work})
				l.mustAdd(t, Lead, &runner{"other", log, nil})
				err := begun(l)(tc.cause)
				if tc.says == "" && err != nil || tc.says != "" && (err == nil || err.Error() != tc.says || !errors.Is(err, tc.want)) {
					t.Errorf("%v, want %q", err, tc.says)
				}
				if n := strings.Count(log.String(), "-"); n != 2 {
					t.Errorf("%d of 2 members have ended: %s", n, log)
				}
			})
		})
	}
}

// The failure of a member stops the later phases first, too.
func TestFailureStopsInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, l := &journal{}, newLife()
		var cause error
		l.mustAdd(t, Serve, &runner{"probes", log, nil})
		l.mustAdd(t, Serve, &runner{"webhook", log, func(context.Context) error {
			time.Sleep(time.Minute)
			return errors.New("port taken")
		}})
		l.mustAdd(t, Lead, &runner{"controller", log, func(ctx context.Context) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			time.Sleep(time.Minute)
			return nil
		}})
		stop := begun(l)
		time.Sleep(time.Hour)
		synctest.Wait()
		if err := stop(nil); err == nil || err.Error() != "webhook: port taken" || cause != err {
			t.Errorf("%v; the controller was told %v", err, cause)
		}
		if got := log.String(); !strings.HasSuffix(got, "-webhook -controller -probes") {
			t.Error(got)
		}
	})
}

func TestMembersComeAndGoWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, l := &journal{}, newLife()
		before := l.mustAdd(t, Lead, &runner{"before", log, nil})
		stop := begun(l)
		broken := errors.New("broken")
		during := l.mustAdd(t, Lead, &runner{"during", log, func(ctx context.Context) error {
			<-ctx.Done()
			if cause := context.Cause(ctx); cause != ErrClosed {
				t.Errorf("told to stop for %v", cause)
			}
			time.Sleep(time.Second)
			return broken
		}})
		synctest.Wait()
		if _, err := l.Add(Sync, "during", new(runner).Run); err != ErrTaken {
			t.Errorf("the same name again: %v", err)
		}
		for range 2 {
			if err := during.Close(); !errors.Is(err, broken) {
				t.Errorf("Close: %v", err)
			}
		}
		l.mustAdd(t, Lead, &runner{"during", log, nil})
		synctest.Wait()
		if err := before.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if want := "+before +during -during +during -before"; log.String() != want {
			t.Errorf("got %s, want %s", log, want)
		}
		if err := stop(nil); err != nil {
			t.Errorf("run: %v", err)
		}
		if len(l.order) != 1 || len(l.members) != 1 {
			t.Errorf("%d members stay", len(l.order))
		}
	})
}

func TestCloseBeforeRun(t *testing.T) {
	l := newLife()
	c := l.mustAdd(t, Lead, &runner{name: "a"})
	if err := c.Close(); err != nil || len(l.order) != 0 || len(l.members) != 0 {
		t.Errorf("%v, %d stay", err, len(l.order))
	}
}

func TestStopBeforeEverythingHasStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, l := &journal{}, newLife()
		l.mustAdd(t, Sync, &runner{"cache", log, nil})
		l.mustAdd(t, Lead, &runner{"controller", log, nil})
		l.Settled = func(ctx context.Context, p Phase) {
			if p == Sync {
				<-ctx.Done()
			}
		}
		if err := begun(l)(nil); err != nil || log.String() != "+cache -cache" {
			t.Errorf("%v: %s", err, log)
		}
	})
}

func TestRunsOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		stop := begun(l)
		if err := begun(l)(nil); !errors.Is(err, run.ErrRunning) {
			t.Errorf("a second run: %v", err)
		}
		stop(nil)
	})
}

func TestAddNamesWhatIsWrong(t *testing.T) {
	l := newLife()
	for name, tc := range map[string]struct {
		phase Phase
		name  string
		r     *runner
		want  string // the wrong argument
	}{
		"no name":   {Lead, "", &runner{}, "name"},
		"no runner": {Lead, "a", nil, "run"},
		"no phase":  {Phases, "a", &runner{}, "phase"},
		"negative":  {-1, "a", &runner{}, "phase"},
	} {
		var err error
		if tc.r == nil {
			_, err = l.Add(tc.phase, tc.name, nil)
		} else {
			_, err = l.Add(tc.phase, tc.name, tc.r.Run)
		}
		if !isOption(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// isOption reports whether err is an *option.Error about a field.
func isOption(err error, field string) bool {
	bad, ok := errors.AsType[*option.Error](err)
	return ok && bad.Field == field
}

// Many members are added and closed at once, while the manager starts and stops.
func TestMembersMayComeAndGoAtOnce(t *testing.T) {
	l := newLife()
	for range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		if err := l.Begin(); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				c, err := l.Add(Phase(i%Phases), fmt.Sprint(i), (&runner{"x", &journal{}, nil}).Run)
				if err != nil {
					t.Error(err)
					return
				}
				if i%2 == 0 {
					cancel()
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		err := l.Run(ctx)
		cancel()
		if err != nil {
			t.Error(err)
		}
		l.Finish()
		wait.Wait()
	}
	if len(l.order) != 0 || slices.ContainsFunc(l.groups[:], func(g *run.Group) bool { return g != nil }) {
		t.Errorf("%d members stay", len(l.order))
	}
}
