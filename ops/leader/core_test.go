package leader

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	epoch   = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	errTest = errors.New("the test says so")
)

func testConfig(identity string) Options {
	return Options{
		Namespace: "shop", Name: "operator", Identity: identity,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		MaxLeaseDuration: 5 * time.Minute,
	}
}

// testCore returns a core without jitter, whose first Step was at the epoch.
func testCore(o Options) *core {
	c := newCore(o, func() float64 { return 0 })
	c.epoch = epoch
	return c
}

// at returns a time in seconds, with its wall clock.
func at(seconds float64) instant {
	d := time.Duration(seconds * float64(time.Second))
	return instant{mono: d, wall: epoch.Add(d)}
}

// held returns a Lease with a holder.
func held(version, holder string, seconds int32) *coordinationv1.Lease {
	stamp := metav1.NewMicroTime(epoch)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "operator", ResourceVersion: version},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &stamp, RenewTime: &stamp,
			LeaseTransitions: new(int32(4)),
		},
	}
}

// stored returns a Lease as the server stores it.
func stored(l *coordinationv1.Lease, version string) *coordinationv1.Lease {
	l = l.DeepCopy()
	l.ResourceVersion = version
	return l
}

func (a action) String() string {
	return [...]string{"wait", "read", "create", "update", "finish"}[a]
}

func (p phase) String() string {
	return [...]string{"standby", "leading", "lost", "releasing", "done"}[p]
}

func (c *core) tick(now instant) output {
	c.take(now, input{})
	return c.next(now)
}

// step asks for what to do next, and fails unless it is the wanted output.
func step(t *testing.T, c *core, now instant, want string) output {
	t.Helper()
	a := c.tick(now)
	got := a.do.String()
	if a.do == wait && !a.until.IsZero() {
		got += " " + a.until.Sub(epoch).String()
	}
	if got != want {
		t.Fatalf("at %v: got %s, want %s", now.mono, got, want)
	}
	return a
}

func wantPhase(t *testing.T, c *core, want phase) {
	t.Helper()
	if c.phase != want {
		t.Fatalf("phase %v, want %v", c.phase, want)
	}
}

// leadingCore returns a core that has created the Lease at 0, with version 1.
func leadingCore(t *testing.T, o Options) *core {
	t.Helper()
	c := testCore(o)
	step(t, c, at(0), "read")
	c.take(at(0), input{event: answered, result: absent})
	a := step(t, c, at(0), "create")
	c.take(at(0.1), input{event: answered, lease: stored(a.lease, "1")})
	wantPhase(t, c, leading)
	return c
}

func TestCoreTakesWhatIsFree(t *testing.T) {
	for name, tc := range map[string]struct {
		lease       *coordinationv1.Lease // nil: none
		do          string
		transitions int32
	}{
		"none":                   {nil, "create", 0},
		"released":               {held("7", "", 1), "update", 5},
		"empty":                  {&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}, "update", 1},
		"released, odd duration": {held("7", "", math.MaxInt32), "update", 5},
	} {
		t.Run(name, func(t *testing.T) {
			c := testCore(testConfig("a"))
			step(t, c, at(0), "read")
			step(t, c, at(0), "wait") // for the answer
			if tc.lease == nil {
				c.take(at(1), input{event: answered, result: absent})
			} else {
				c.take(at(1), input{event: answered, lease: tc.lease})
			}
			a := step(t, c, at(1), tc.do)
			s := a.lease.Spec
			if *s.HolderIdentity != "a" || *s.LeaseDurationSeconds != 15 || *s.LeaseTransitions != tc.transitions ||
				!s.RenewTime.Equal(s.AcquireTime) || !s.RenewTime.Time.Equal(at(1).wall) {
				t.Errorf("wrote %+v", s)
			}
			if tc.lease != nil && a.lease.ResourceVersion != "7" {
				t.Errorf("the update is for version %q", a.lease.ResourceVersion)
			}
			wantPhase(t, c, standby)
			c.take(at(3), input{event: answered, lease: stored(a.lease, "8")})
			wantPhase(t, c, leading)
			if c.until() != 11*time.Second {
				t.Errorf("our time ends at %v, want 10 s after the request was sent", c.until())
			}
		})
	}
}

func TestCoreWaitsForOthers(t *testing.T) {
	stranger := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("bob")},
	}
	for name, tc := range map[string]struct {
		lease  *coordinationv1.Lease
		expiry string
		odd    string // expected problem
	}{
		"valid":               {held("7", "b", 15), "16s", ""},
		"asks for longer":     {held("7", "b", 60), "1m1s", ""},
		"asks for less":       {held("7", "b", 1), "16s", ""},
		"asks for nothing":    {stranger, "16s", "missing or not positive"},
		"negative":            {held("7", "b", -5), "16s", "missing or not positive"},
		"68 years":            {held("7", "b", math.MaxInt32), "5m1s", "2147483647, above the maximum; used instead: 5m0s"},
		"three minutes":       {held("7", "b", 180), "3m1s", "leaseDurationSeconds is 180, ours is 15s"},
		"zero":                {held("7", "b", 0), "16s", "missing or not positive"},
		"no renewTime":        {&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("b"), LeaseDurationSeconds: new(int32(15))}}, "16s", "renewTime is missing"},
		"our identity":        {held("7", "a", 15), "16s", "our own identity"},
		"expired by its time": {held("7", "b", 15), "16s", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := testCore(testConfig("a"))
			c.take(at(0), input{event: watching})
			step(t, c, at(0), "read")
			now := at(1)
			now.wall = now.wall.AddDate(50, 0, 0)
			c.take(now, input{event: answered, lease: tc.lease})
			step(t, c, now, "wait "+tc.expiry)
			got := fmt.Sprint(c.problem())
			if tc.odd == "" && c.problem() != nil || !strings.Contains(got, tc.odd) {
				t.Errorf("Err is %s, want %q in it", got, tc.odd)
			}
			if c.rec.holder != *tc.lease.Spec.HolderIdentity {
				t.Errorf("holder %q", c.rec.holder)
			}
			expiry, _ := time.ParseDuration(tc.expiry)
			a := step(t, c, instant{mono: expiry, wall: epoch}, "update")
			if *a.lease.Spec.LeaseTransitions < 0 {
				t.Errorf("transitions %d", *a.lease.Spec.LeaseTransitions)
			}
		})
	}
}

// A sign of life counts from when it was seen. Changes of metadata are no sign of life.
func TestCoreSeesSignsOfLife(t *testing.T) {
	c := testCore(testConfig("a"))
	c.take(at(0), input{event: watching})
	step(t, c, at(0), "read")
	c.take(at(0), input{event: answered, lease: held("7", "b", 15)})
	renewed := held("8", "b", 15)
	renewed.Spec.RenewTime = new(metav1.NewMicroTime(epoch.Add(-time.Hour)))
	c.take(at(9), input{event: observed, lease: renewed})
	step(t, c, at(9), "wait 24s")
	labelled := stored(renewed, "9")
	labelled.Labels = map[string]string{"x": "y"}
	c.take(at(12), input{event: observed, lease: labelled})
	step(t, c, at(12), "wait 24s")
	c.take(at(13), input{event: observed, lease: held("7", "b", 15)}) // an old version, late
	step(t, c, at(13), "wait 24s")
	a := step(t, c, at(24), "update")
	if a.lease.ResourceVersion != "9" || a.lease.Labels["x"] != "y" {
		t.Errorf("the update drops what others have written: %v", a.lease.ObjectMeta)
	}
}

func TestCoreTakesAReleasedLeaseAtOnce(t *testing.T) {
	c := testCore(testConfig("a"))
	c.take(at(0), input{event: watching})
	step(t, c, at(0), "read")
	c.take(at(0), input{event: answered, lease: held("7", "b", 15)})
	c.take(at(3), input{event: observed, lease: held("8", "", 1)})
	step(t, c, at(3), "update")
	c.take(at(3), input{event: answered, result: conflict}) // another was faster; the watch has not reported it yet
	step(t, c, at(3), "read")
	c.take(at(3), input{event: answered, lease: held("9", "c", 15)})
	step(t, c, at(3), "wait 18s")
}

func TestCoreReadsWithoutAWatch(t *testing.T) {
	c := testCore(testConfig("a"))
	step(t, c, at(0), "read")
	c.take(at(0), input{event: answered, lease: held("7", "b", 15)})
	step(t, c, at(0), "wait 2s")
	step(t, c, at(2), "read")
	c.take(at(2), input{event: answered, lease: held("7", "b", 15)})
	c.take(at(3), input{event: watching})
	step(t, c, at(3), "read") // for changes before the watch
	c.take(at(3), input{event: answered, lease: held("7", "b", 15)})
	step(t, c, at(3), "wait 15s")
	c.take(at(8), input{event: unwatched})
	step(t, c, at(8), "read")
	if a := c.tick(at(8)); a.do != wait {
		t.Errorf("a second request at once: %v", a.do)
	}
	c.take(at(9), input{event: answered, result: failed, err: errTest})
	if !errors.Is(c.problem(), errTest) {
		t.Errorf("Err %v", c.problem())
	}
	c.rand = func() float64 { return 0.5 }
	a := c.tick(at(9))
	if a.do != wait || a.until != epoch.Add(10*time.Second) {
		t.Errorf("after a failure: %v until %v", a.do, a.until)
	}
	step(t, c, at(10), "read")
}

func TestCoreRenewsEveryRetryPeriod(t *testing.T) {
	c := leadingCore(t, testConfig("a"))
	step(t, c, at(0.1), "wait 2s")
	a := step(t, c, at(2), "update")
	if !a.deadline.Equal(epoch.Add(7*time.Second)) || a.lease.ResourceVersion != "1" || !a.lease.Spec.AcquireTime.Time.Equal(epoch) || !a.lease.Spec.RenewTime.Time.Equal(at(2).wall) {
		t.Errorf("renewal %+v", a)
	}
	if c.until() != 10*time.Second {
		t.Error("our time went on before the answer")
	}
	c.take(at(6), input{event: answered, lease: stored(a.lease, "2")})
	if c.until() != 12*time.Second {
		t.Errorf("our time ends at %v", c.until())
	}
	// Its answer comes too late for the deadline.
	a = step(t, c, at(6), "update")
	c.take(at(12), input{event: answered, lease: stored(a.lease, "3")})
	wantPhase(t, c, lost)
	if c.until() != 0 || c.lost.Reason != reasonExpired {
		t.Errorf("until %v, lost %v", c.until(), c.lost)
	}
}

// The answer to a write is lost. The write was done, was not done, or is done later.
func TestCoreSurvivesLostAnswers(t *testing.T) {
	t.Run("done, seen by a read", func(t *testing.T) {
		c := leadingCore(t, testConfig("a"))
		first := step(t, c, at(2), "update")
		c.take(at(4), input{event: answered, result: failed, err: errTest})
		step(t, c, at(4), "update")
		c.take(at(4), input{event: answered, result: conflict})
		step(t, c, at(4), "read")
		c.take(at(5), input{event: answered, lease: stored(first.lease, "2")})
		wantPhase(t, c, leading)
		if c.until() != 12*time.Second {
			t.Errorf("our time ends at %v", c.until())
		}
		if a := step(t, c, at(6), "update"); a.lease.ResourceVersion != "2" {
			t.Errorf("version %v", a.lease.ResourceVersion)
		}
	})
	t.Run("done, seen by the watch", func(t *testing.T) {
		c := leadingCore(t, testConfig("a"))
		first := step(t, c, at(2), "update")
		c.take(at(3), input{event: observed, lease: stored(first.lease, "2")})
		if c.until() != 12*time.Second {
			t.Errorf("our time ends at %v", c.until())
		}
		c.take(at(4), input{event: answered, result: failed, err: errTest})
		if a := step(t, c, at(4), "update"); a.lease.ResourceVersion != "2" {
			t.Errorf("version %v", a.lease.ResourceVersion)
		}
	})
	t.Run("the first one, in the place of the second", func(t *testing.T) {
		c := leadingCore(t, testConfig("a"))
		first := step(t, c, at(2), "update")
		c.take(at(4), input{event: answered, result: failed, err: errTest})
		step(t, c, at(4), "update")
		c.take(at(5), input{event: observed, lease: stored(first.lease, "2")})
		c.take(at(5), input{event: answered, result: conflict})
		wantPhase(t, c, leading)
		if c.until() != 12*time.Second {
			t.Errorf("our time ends at %v, want that of the write that was done", c.until())
		}
		step(t, c, at(6), "update")
	})
	t.Run("the one that took the lease", func(t *testing.T) {
		c := testCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.take(at(0), input{event: answered, result: absent})
		a := step(t, c, at(0), "create")
		c.take(at(1), input{event: answered, result: failed, err: errTest})
		step(t, c, at(2), "create")
		c.take(at(2), input{event: answered, result: conflict})
		step(t, c, at(2), "read")
		c.take(at(3), input{event: answered, lease: stored(a.lease, "1")})
		wantPhase(t, c, leading)
		if c.until() != 10*time.Second {
			t.Errorf("our time ends at %v", c.until())
		}
	})
	t.Run("seen too late to lead", func(t *testing.T) {
		c := testCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.take(at(0), input{event: answered, result: absent})
		a := step(t, c, at(0), "create")
		c.take(at(6), input{event: answered, lease: stored(a.lease, "1")})
		wantPhase(t, c, standby)
		a = step(t, c, at(6), "update")
		c.take(at(6.5), input{event: answered, lease: stored(a.lease, "2")})
		wantPhase(t, c, leading)
		if c.until() != 16*time.Second || *a.lease.Spec.LeaseTransitions != 0 {
			t.Errorf("our time ends at %v, %d transitions", c.until(), *a.lease.Spec.LeaseTransitions)
		}
	})
}

func TestCoreLosesTheLease(t *testing.T) {
	for name, tc := range map[string]struct {
		what   func(c *core)
		reason string
		text   string
	}{
		"taken":    {func(c *core) { c.take(at(1), input{event: observed, lease: held("2", "b", 15)}) }, reasonTaken, `taken by "b"`},
		"released": {func(c *core) { c.take(at(1), input{event: observed, lease: held("2", "", 1)}) }, reasonEdited, "another client has released it"},
		"edited":   {func(c *core) { c.take(at(1), input{event: observed, lease: held("2", "a", 15)}) }, reasonEdited, `another process with the identity "a"`},
		"deleted":  {func(c *core) { c.take(at(1), input{event: deleted, lease: held("2", "a", 15)}) }, reasonDeleted, "deleted"},
		"deleted, seen by a renewal": {func(c *core) {
			c.tick(at(2))
			c.take(at(2), input{event: answered, result: absent})
		}, reasonDeleted, "deleted"},
		"taken, seen by a renewal": {func(c *core) {
			c.tick(at(2))
			c.take(at(2), input{event: answered, result: conflict})
			c.tick(at(2))
			c.take(at(2), input{event: answered, lease: held("2", "b", 15)})
		}, reasonTaken, `taken by "b"`},
		"not renewed": {func(c *core) {
			c.tick(at(2))
			c.take(at(7), input{event: answered, result: failed, err: errTest})
			c.tick(at(7))
			c.take(at(10), input{event: answered, result: failed, err: errTest})
		}, reasonExpired, "not renewed in time: the test says so"},
		"suspended": {func(c *core) { c.tick(at(3600)) }, reasonExpired, "not renewed in time"},
	} {
		t.Run(name, func(t *testing.T) {
			c := leadingCore(t, testConfig("a"))
			tc.what(c)
			wantPhase(t, c, lost)
			if lost := c.lost; lost.Reason != tc.reason || !strings.HasSuffix(lost.Error(), tc.text) {
				t.Errorf("lost: %v", lost)
			}
			if c.until() != 0 {
				t.Errorf("our time ends at %v", c.until())
			}
			step(t, c, at(3601), "wait") // for the end of the work
		})
	}
}

func TestCoreRenewsWhenAWatchBegins(t *testing.T) {
	c := leadingCore(t, testConfig("a"))
	step(t, c, at(0.2), "wait 2s")
	c.take(at(0.2), input{event: watching})
	step(t, c, at(0.2), "update")
	c.take(at(0.2), input{event: answered, result: absent})
	wantPhase(t, c, lost)
}

// A watch begins while a request is open. Neither reports a change between the two.
func TestCoreReadsAgainAfterAWatchBegins(t *testing.T) {
	t.Run("a read", func(t *testing.T) {
		c := testCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.take(at(0.1), input{event: watching})
		c.take(at(0.2), input{event: answered, lease: held("7", "b", 15)})
		step(t, c, at(0.2), "read")
		c.take(at(0.3), input{event: answered, result: absent}) // it was deleted in between
		step(t, c, at(0.3), "wait 15.3s")
	})
	t.Run("a read that the watch has overtaken", func(t *testing.T) {
		c := testCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.take(at(0.1), input{event: watching})
		c.take(at(0.1), input{event: observed, lease: held("8", "b", 15)})
		c.take(at(0.2), input{event: answered, lease: held("7", "b", 15)})
		step(t, c, at(0.2), "wait 15.1s")
	})
	t.Run("a renewal", func(t *testing.T) {
		c := leadingCore(t, testConfig("a"))
		c.take(at(1), input{event: unwatched})
		a := step(t, c, at(2), "update")
		c.take(at(2), input{event: watching})
		c.take(at(2.1), input{event: answered, lease: stored(a.lease, "9")})
		step(t, c, at(2.1), "update")
	})
}

// Changes of metadata do not matter.
func TestCoreKeepsTheLeaseWhenMetadataChange(t *testing.T) {
	c := leadingCore(t, testConfig("a"))
	a := step(t, c, at(2), "update")
	labelled := stored(a.lease, "3") // between our write and the next read
	labelled.Labels = map[string]string{"x": "y"}
	c.take(at(2), input{event: observed, lease: labelled})
	c.take(at(3), input{event: answered, lease: stored(a.lease, "2")})
	wantPhase(t, c, leading)
	if a = step(t, c, at(4), "update"); a.lease.ResourceVersion != "3" || a.lease.Labels["x"] != "y" {
		t.Errorf("version %s, labels %v", a.lease.ResourceVersion, a.lease.Labels)
	}
}

// Metadata change all the time. That does not cause a storm of requests.
func TestConflictsDoNotCauseAStorm(t *testing.T) {
	c := leadingCore(t, testConfig("a"))
	requests := map[action]int{}
	for now := 2.0; now < 6; now += 0.001 {
		a := c.next(at(now))
		requests[a.do]++
		switch a.do {
		case update:
			c.take(at(now), input{event: answered, result: conflict})
		case read:
			c.take(at(now), input{event: answered, lease: stored(c.lease, fmt.Sprint(now*1000))})
		}
	}
	wantPhase(t, c, leading)
	if requests[update] != maxConflicts+2 || requests[read] != maxConflicts+1 {
		t.Errorf("%v requests in 4 s", requests)
	}
}

// The server was restored to an earlier state. Its answers count, however low their versions are.
func TestCoreAcceptsTheStateOfARestoredServer(t *testing.T) {
	c := testCore(testConfig("a"))
	c.take(at(0), input{event: watching})
	step(t, c, at(0), "read")
	c.take(at(0), input{event: answered, lease: held("100", "b", 15)})
	step(t, c, at(15), "update")
	c.take(at(15), input{event: answered, result: conflict})
	step(t, c, at(15), "read")
	c.take(at(15), input{event: answered, lease: held("50", "", 1)})
	if a := step(t, c, at(15), "update"); a.lease.ResourceVersion != "50" {
		t.Errorf("version %v", a.lease.ResourceVersion)
	}
}

// An answer that the watch has overtaken does not undo the watch's events.
func TestAnswerOvertakenByTheWatchIsIgnored(t *testing.T) {
	c := testCore(testConfig("a"))
	c.take(at(0), input{event: watching})
	step(t, c, at(0), "read")
	c.take(at(1), input{event: observed, lease: held("8", "", 1)})
	c.take(at(1), input{event: answered, lease: held("7", "b", 15)})
	if a := step(t, c, at(1), "update"); a.lease.ResourceVersion != "8" {
		t.Errorf("version %v", a.lease.ResourceVersion)
	}
}

func TestLeaseTransitionsDoNotOverflow(t *testing.T) {
	c := testCore(testConfig("a"))
	step(t, c, at(0), "read")
	l := held("7", "", 1)
	l.Spec.LeaseTransitions = new(int32(math.MaxInt32))
	c.take(at(0), input{event: answered, lease: l})
	if a := step(t, c, at(0), "update"); *a.lease.Spec.LeaseTransitions != math.MaxInt32 {
		t.Errorf("%d transitions", *a.lease.Spec.LeaseTransitions)
	}
}
