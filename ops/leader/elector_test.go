package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
)

// untilEnd is work that waits for the end of its ctx and returns the cause.
func untilEnd(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// start runs an elector. The channel receives the result of Run.
func start(ctx context.Context, e *Elector, lead func(context.Context) error) <-chan error {
	out := make(chan error, 1)
	ctx, cancel := context.WithTimeout(ctx, time.Hour) // of virtual time: a failed test must end
	go func() {
		defer cancel()
		out <- e.Run(ctx, lead)
	}()
	return out
}

func TestRunRenewsWhileTheWorkDrainsAndReleasesAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		var told []string
		e := s.elector(t, "a", nil, Options{Hook: func(st Leadership) { told = append(told, fmt.Sprint(st.Leading, " ", st.Holder)) }})
		if e.Identity() != "a" || e.State() != (Leadership{}) {
			t.Errorf("before: %+v", e.State())
		}
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		drained := false
		out := start(ctx, e, func(ctx context.Context) error {
			if time.Since(begun) > 0 {
				t.Error("the work began late")
			}
			<-ctx.Done()
			time.Sleep(20 * time.Second)
			if s.holder() != "a" || e.Fence()(client.Call{}) != nil {
				t.Error("the lease was lost while the work drained")
			}
			drained = true
			return nil
		})
		time.Sleep(time.Minute)
		if st := e.State(); !st.Leading || st.Holder != "a" || st.Err != nil || time.Since(st.Renewed) > 3*time.Second {
			t.Errorf("leading: %+v", st)
		}
		if n := s.count("update"); n < 24 || n > 30 {
			t.Errorf("%d renewals in a minute", n)
		}
		cancel()
		if err := <-out; err != nil || !drained {
			t.Errorf("Run: %v, drained: %v", err, drained)
		}
		if s.holder() != "" {
			t.Errorf("the Lease names %q", s.holder())
		}
		if st := e.State(); st.Leading || st.Holder != "" || st.Err != nil || !st.Renewed.IsZero() {
			t.Errorf("after: %+v", st)
		}
		if want := []string{"true a", "false a", "false "}; !slices.Equal(told, want) {
			t.Errorf("the hook was told %q, want %q", told, want)
		}
	})
}

func TestStandbyTakesAReleasedLeaseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a, b := s.elector(t, "a", nil, Options{}), s.elector(t, "b", nil, Options{})
		first, stop := context.WithCancel(t.Context())
		outA := start(first, a, untilEnd)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		var took time.Time
		outB := start(ctx, b, func(ctx context.Context) error {
			took = time.Now()
			return untilEnd(ctx)
		})
		time.Sleep(time.Minute)
		if st := b.State(); st.Leading || st.Holder != "a" || st.Err != nil {
			t.Errorf("on standby: %+v", st)
		}
		if n := s.count("get"); n > 4 {
			t.Errorf("%d reads although there is a watch", n)
		}
		released := time.Now()
		stop()
		if err := <-outA; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v, want what the work returned", err)
		}
		synctest.Wait()
		if took != released || s.holder() != "b" {
			t.Errorf("taken after %v by %s", took.Sub(released), s.holder())
		}
		cancel()
		<-outB
	})
}

// A leader that reaches no server stops writing before another leads.
func TestCutOffLeaderIsOutBeforeTheNextIsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		cut := make(chan struct{})
		a, b := s.elector(t, "a", cut, Options{}), s.elector(t, "b", nil, Options{})
		var lost, took time.Time
		wake := make(chan struct{})
		outA := start(t.Context(), a, func(ctx context.Context) error {
			<-ctx.Done()
			lost = time.Now()
			<-wake // the work takes its time
			return errTest
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		outB := start(ctx, b, func(ctx context.Context) error {
			took = time.Now()
			return untilEnd(ctx)
		})
		time.Sleep(time.Minute + time.Second/2)
		renewed := a.State().Renewed
		close(cut)
		time.Sleep(time.Until(renewed.Add(10*time.Second - time.Nanosecond)))
		if err := a.Fence()(client.Call{}); err != nil || !a.State().Leading {
			t.Errorf("a nanosecond before the end of its time: %v", err)
		}
		time.Sleep(time.Nanosecond)
		err := a.Fence()(client.Call{})
		if e, ok := errors.AsType[*NotLeadingError](err); !ok || e.Identity != "a" {
			t.Errorf("at the end of its time: %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if d := lost.Sub(renewed); d != 10*time.Second {
			t.Errorf("lost %v after the last renewal", d)
		}
		if d := took.Sub(renewed); d != 15*time.Second {
			t.Errorf("taken %v after the last renewal", d)
		}
		err = a.Fence()(client.Call{})
		if e, ok := errors.AsType[*LostError](err); !ok || e.Reason != reasonExpired {
			t.Errorf("after the loss: %v", err)
		}
		if st := a.State(); st.Leading || !errors.Is(st.Err, e(err)) {
			t.Errorf("after the loss: %+v", st)
		}
		select {
		case err := <-outA:
			t.Errorf("Run returned before the work: %v", err)
		default:
		}
		close(wake)
		err = <-outA
		if e, ok := errors.AsType[*LostError](err); !ok || e.Err == nil || !errors.Is(err, errTest) {
			t.Errorf("Run: %v", err)
		}
		if s.holder() != "b" {
			t.Errorf("the Lease names %q", s.holder())
		}
		cancel()
		<-outB
	})
}

func e(err error) error {
	lost, _ := errors.AsType[*LostError](err)
	return lost
}

// The machine was suspended. No timer has fired, but the clock has advanced.
func TestFenceAfterASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		e := s.elector(t, "a", nil, Options{})
		asleep := atomic.Int64{}
		e.now = func() time.Time { return time.Now().Add(time.Duration(asleep.Load())) }
		out := start(t.Context(), e, func(ctx context.Context) error {
			asleep.Store(int64(time.Hour))
			if err := e.Fence()(client.Call{}); err == nil || e.State().Leading {
				t.Error("a write passes after an hour asleep")
			}
			return untilEnd(ctx)
		})
		if err, ok := errors.AsType[*LostError](<-out); !ok || err.Reason != reasonExpired {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestLeaseLostByHand(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*coordinationv1.Lease) // nil: delete
		want string
	}{
		"another holder": {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("bob") }, reasonTaken},
		"no holder":      {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }, reasonEdited},
		"empty":          {func(l *coordinationv1.Lease) { l.Spec = coordinationv1.LeaseSpec{} }, reasonEdited},
		"duration":       {func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(1)) }, reasonEdited},
		"deleted":        {nil, reasonDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				el := s.elector(t, "a", nil, Options{})
				c := s.client(t, nil).Fenced(el.Fence())
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "x"}}
				out := start(t.Context(), el, func(ctx context.Context) error {
					if _, err := client.Create(ctx, c, cm); err != nil {
						t.Errorf("while leading: %v", err)
					}
					s.edit(tc.edit)
					<-ctx.Done()
					_, err := client.Create(context.WithoutCancel(ctx), c, cm)
					if _, ok := errors.AsType[*client.FencedError](err); !ok || !errors.Is(err, context.Cause(ctx)) {
						t.Errorf("after the loss: %v", err)
					}
					return context.Cause(ctx)
				})
				begun := time.Now()
				err := <-out
				if lost, ok := err.(*LostError); !ok || lost.Reason != tc.want || time.Since(begun) != 0 {
					t.Errorf("Run: %v after %v", err, time.Since(begun))
				}
			})
		})
	}
}

// A renewal keeps metadata and unknown fields.
func TestRenewalKeepsWhatOthersWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		ctx, cancel := context.WithCancel(t.Context())
		el := s.elector(t, "a", nil, Options{})
		out := start(ctx, el, untilEnd)
		time.Sleep(time.Second)
		s.edit(func(l *coordinationv1.Lease) {
			l.Labels = map[string]string{"team": "shop"}
			l.Spec.PreferredHolder = new("x")
		})
		time.Sleep(time.Minute)
		if !el.State().Leading || s.lease.Labels["team"] != "shop" || value(s.lease.Spec.PreferredHolder) != "x" {
			t.Errorf("%+v, %v", el.State(), s.lease)
		}
		cancel()
		<-out
	})
}

func TestForbiddenIsVisible(t *testing.T) {
	for _, verb := range []string{"get", "create"} {
		t.Run(verb, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.setRefuse(403, verb)
				el := s.elector(t, "a", nil, Options{})
				ctx, cancel := context.WithCancel(t.Context())
				out := start(ctx, el, func(context.Context) error { return nil })
				time.Sleep(time.Minute)
				err := el.State().Err
				if _, ok := errors.AsType[*client.ForbiddenError](err); !ok || !strings.Contains(err.Error(), verb+" leases.coordination.k8s.io") {
					t.Errorf("Err: %v", err)
				}
				if n := s.count(verb); n < 20 || n > 32 {
					t.Errorf("%d tries in a minute", n)
				}
				s.setRefuse(0, verb)
				if err := <-out; err != nil || s.holder() != "" {
					t.Errorf("Run: %v, holder %q", err, s.holder())
				}
				cancel()
			})
		})
	}
}

func TestStandbyReadsIfItMayNotWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("bob")
		s.setRefuse(403, "watch")
		el := s.elector(t, "a", nil, Options{})
		out := start(t.Context(), el, func(context.Context) error { return nil })
		time.Sleep(10 * time.Second)
		if st := el.State(); st.Holder != "bob" || st.Err != nil {
			t.Errorf("%+v", st)
		}
		if n := s.count("get"); n < 4 || n > 6 {
			t.Errorf("%d looks in 10 s", n)
		}
		released := time.Now()
		s.put("")
		if err := <-out; err != nil || time.Since(released) > 2400*time.Millisecond {
			t.Errorf("Run: %v after %v", err, time.Since(released))
		}
	})
}

// A holder that gives no sign of life is waited for, reported, and replaced.
func TestSilentHolderIsReportedAndReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.mu.Lock()
		s.putLocked(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("bob")}})
		s.lease.Namespace, s.lease.Name = "shop", "operator"
		s.mu.Unlock()
		el := s.elector(t, "a", nil, Options{})
		begun := time.Now()
		out := start(t.Context(), el, func(context.Context) error {
			if time.Since(begun) != 15*time.Second {
				t.Errorf("taken after %v", time.Since(begun))
			}
			return nil
		})
		time.Sleep(time.Second)
		if odd, ok := errors.AsType[*OddLeaseError](el.State().Err); !ok || odd.Holder != "bob" {
			t.Errorf("Err: %v", el.State().Err)
		}
		if err := <-out; err != nil {
			t.Error(err)
		}
	})
}

func TestRunEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		lead func(context.Context) error
		want func(error) bool
	}{
		"the work is done":   {func(context.Context) error { return nil }, func(err error) bool { return err == nil }},
		"the work fails":     {func(context.Context) error { return errTest }, func(err error) bool { return err == errTest }},
		"the work panics":    {func(context.Context) error { panic(errTest) }, func(err error) bool { p, ok := err.(*run.PanicError); return ok && p.Name == "lead" }},
		"the work is exited": {func(context.Context) error { runtime.Goexit(); return nil }, func(err error) bool { return err == run.ErrGoexit }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				el := s.elector(t, "a", nil, Options{Hook: func(Leadership) { panic("the hook is broken") }})
				for range 2 { // it can run again
					begun := time.Now()
					err := <-start(t.Context(), el, tc.lead)
					if !tc.want(err) || s.holder() != "" || time.Since(begun) != 0 {
						t.Errorf("Run: %v after %v, holder %q", err, time.Since(begun), s.holder())
					}
				}
				if n := value(s.lease.Spec.LeaseTransitions); n != 1 {
					t.Errorf("%d transitions", n)
				}
			})
		})
	}
}

func TestRunOnStandbyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("bob")
		el := s.elector(t, "a", nil, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		out := start(ctx, el, untilEnd)
		synctest.Wait()
		if err := el.Run(ctx, untilEnd); !errors.Is(err, run.ErrRunning) {
			t.Errorf("a second Run: %v", err)
		}
		err := el.Fence()(client.Call{})
		if want := `"a" is not known to hold the lease shop/operator: "bob" does`; fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
		cancel()
		if err := <-out; err != nil || s.holder() != "bob" {
			t.Errorf("Run: %v, holder %q", err, s.holder())
		}
	})
}

func TestKeepOnStopDoesNotRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		el := s.elector(t, "a", nil, Options{KeepOnStop: true})
		if err := <-start(t.Context(), el, func(context.Context) error { return nil }); err != nil || s.holder() != "a" {
			t.Errorf("Run: %v, holder %q", err, s.holder())
		}
		if el.Fence()(client.Call{}) == nil {
			t.Error("a write passes after Run")
		}
	})
}

// The server is away for less than the deadline. The leader keeps the lease.
func TestShortOutageKeepsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		el := s.elector(t, "a", nil, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		out := start(ctx, el, untilEnd)
		time.Sleep(3 * time.Second)
		s.setRefuse(500, "get", "update", "watch")
		time.Sleep(7 * time.Second)
		if st := el.State(); !st.Leading || st.Err == nil {
			t.Errorf("%+v", st)
		}
		s.setRefuse(0, "get", "update", "watch")
		time.Sleep(10 * time.Second)
		if st := el.State(); !st.Leading || st.Err != nil {
			t.Errorf("%+v", st)
		}
		cancel()
		<-out
	})
}

func TestOptionsAreDefaultedAndValidated(t *testing.T) {
	c := newServer().client(t, nil)
	good := Options{Namespace: "shop", Name: "operator"}
	el, err := New(c, good)
	if err != nil {
		t.Fatal(err)
	}
	if o := el.o; o.LeaseDuration != 15*time.Second || o.RenewDeadline != 10*time.Second || o.RetryPeriod != 2*time.Second {
		t.Errorf("defaults: %+v", o)
	}
	if other, err := New(c, good); err != nil || other.Identity() == el.Identity() || !strings.Contains(el.Identity(), "_") {
		t.Errorf("identities %q and %q, %v", el.Identity(), other.Identity(), err)
	}
	if !el.o.Logger.Enabled(t.Context(), slog.LevelWarn) {
		t.Error("without a Logger nobody is told that the lease is lost")
	}
	for field, change := range map[string]func(*Options){
		"Namespace":         func(o *Options) { o.Namespace = "" },
		"Namespace ":        func(o *Options) { o.Namespace = "a/b" },
		"Name":              func(o *Options) { o.Name = "" },
		"Name ":             func(o *Options) { o.Name = "Operator" },
		"LeaseDuration":     func(o *Options) { o.LeaseDuration = time.Second - 1 },
		"MaxLeaseDuration":  func(o *Options) { o.MaxLeaseDuration = 15*time.Second - 1 },
		"MaxLeaseDuration ": func(o *Options) { o.MaxLeaseDuration = -1 },
		"LeaseDuration ":    func(o *Options) { o.LeaseDuration = -1 },
		"RenewDeadline":     func(o *Options) { o.RenewDeadline = 15 * time.Second },
		"RenewDeadline ":    func(o *Options) { o.RenewDeadline = -1 },
		"RenewDeadline  ":   func(o *Options) { o.LeaseDuration, o.RenewDeadline = 5*time.Second, 5*time.Second },
		"RetryPeriod":       func(o *Options) { o.RetryPeriod = -1 },
		"RetryPeriod ":      func(o *Options) { o.RetryPeriod = 9 * time.Second },
	} {
		o := good
		change(&o)
		_, err := New(c, o)
		if e, ok := errors.AsType[*option.Error](err); !ok || e.Field != strings.TrimSpace(field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
	if _, err := New(nil, good); err == nil {
		t.Error("no error without a client")
	}
}

func TestClockCountsSuspension(t *testing.T) {
	c := newClock()
	for last, i := c.now(), 0; i < 1000; i++ {
		now := c.now()
		if now.Before(last) {
			t.Fatalf("%v after %v", now, last)
		}
		last = now
	}
	if boot, ok := sinceBoot(); ok {
		c.boot = boot - time.Hour // an hour's suspension
		if c.now().Sub(c.start) < time.Hour {
			t.Errorf("%v after an hour asleep", c.now().Sub(c.start))
		}
	}
}
