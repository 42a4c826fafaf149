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

	"github.com/flyball-io/flyball/object"
)

var (
	epoch   = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	errTest = errors.New("the test says so")
)

func testConfig(identity string) Config {
	return Config{
		Lease: object.Key{Namespace: "shop", Name: "operator"}, Identity: identity,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
	}
}

// at returns a time in seconds, with its wall clock.
func at(seconds float64) Time {
	d := time.Duration(seconds * float64(time.Second))
	return Time{Mono: d, Wall: epoch.Add(d)}
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

// step calls Next and fails unless it returns the wanted action.
func step(t *testing.T, c *Core, now Time, want string) Action {
	t.Helper()
	a := c.Next(now, 0)
	got := a.Do.String()
	if a.Do == Wait {
		got += " " + a.Until.String()
		if a.Until == Never {
			got = "wait"
		}
	}
	if got != want {
		t.Fatalf("at %v: got %s, want %s", now.Mono, got, want)
	}
	return a
}

func phase(t *testing.T, c *Core, want Phase) {
	t.Helper()
	if c.Phase() != want {
		t.Fatalf("phase %v, want %v", c.Phase(), want)
	}
}

// leading returns a core that has created the Lease at 0, with version 1.
func leading(t *testing.T, o Config) *Core {
	t.Helper()
	c := NewCore(o)
	step(t, c, at(0), "read")
	c.Answer(at(0), Answer{Result: Absent})
	a := step(t, c, at(0), "create")
	c.Answer(at(0.1), Answer{Lease: stored(a.Lease, "1")})
	phase(t, c, Leading)
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
			c := NewCore(testConfig("a"))
			step(t, c, at(0), "read")
			step(t, c, at(0), "wait") // for the answer
			if tc.lease == nil {
				c.Answer(at(1), Answer{Result: Absent})
			} else {
				c.Answer(at(1), Answer{Lease: tc.lease})
			}
			a := step(t, c, at(1), tc.do)
			s := a.Lease.Spec
			if *s.HolderIdentity != "a" || *s.LeaseDurationSeconds != 15 || *s.LeaseTransitions != tc.transitions ||
				!s.RenewTime.Equal(s.AcquireTime) || !s.RenewTime.Time.Equal(at(1).Wall) {
				t.Errorf("wrote %+v", s)
			}
			if tc.lease != nil && a.Lease.ResourceVersion != "7" {
				t.Errorf("the update is for version %q", a.Lease.ResourceVersion)
			}
			phase(t, c, Standby)
			c.Answer(at(3), Answer{Lease: stored(a.Lease, "8")})
			phase(t, c, Leading)
			if c.Until() != 11*time.Second {
				t.Errorf("our time ends at %v, want 10 s after the request was sent", c.Until())
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
			c := NewCore(testConfig("a"))
			c.Watching(at(0), true)
			step(t, c, at(0), "read")
			now := at(1)
			now.Wall = now.Wall.AddDate(50, 0, 0)
			c.Answer(now, Answer{Lease: tc.lease})
			step(t, c, now, "wait "+tc.expiry)
			got := fmt.Sprint(c.Err())
			if tc.odd == "" && c.Err() != nil || !strings.Contains(got, tc.odd) {
				t.Errorf("Err is %s, want %q in it", got, tc.odd)
			}
			if c.Holder() != *tc.lease.Spec.HolderIdentity {
				t.Errorf("holder %q", c.Holder())
			}
			expiry, _ := time.ParseDuration(tc.expiry)
			a := step(t, c, Time{Mono: expiry, Wall: epoch}, "update")
			if *a.Lease.Spec.LeaseTransitions < 0 {
				t.Errorf("transitions %d", *a.Lease.Spec.LeaseTransitions)
			}
		})
	}
}

// A sign of life counts from when it was seen. Changes of metadata are no sign of life.
func TestCoreSeesSignsOfLife(t *testing.T) {
	c := NewCore(testConfig("a"))
	c.Watching(at(0), true)
	step(t, c, at(0), "read")
	c.Answer(at(0), Answer{Lease: held("7", "b", 15)})
	renewed := held("8", "b", 15)
	renewed.Spec.RenewTime = new(metav1.NewMicroTime(epoch.Add(-time.Hour)))
	c.Observe(at(9), renewed, false)
	step(t, c, at(9), "wait 24s")
	labelled := stored(renewed, "9")
	labelled.Labels = map[string]string{"x": "y"}
	c.Observe(at(12), labelled, false)
	step(t, c, at(12), "wait 24s")
	c.Observe(at(13), held("7", "b", 15), false) // an old version, late
	step(t, c, at(13), "wait 24s")
	a := step(t, c, at(24), "update")
	if a.Lease.ResourceVersion != "9" || a.Lease.Labels["x"] != "y" {
		t.Errorf("the update drops what others have written: %v", a.Lease.ObjectMeta)
	}
}

func TestCoreTakesAReleasedLeaseAtOnce(t *testing.T) {
	c := NewCore(testConfig("a"))
	c.Watching(at(0), true)
	step(t, c, at(0), "read")
	c.Answer(at(0), Answer{Lease: held("7", "b", 15)})
	c.Observe(at(3), held("8", "", 1), false)
	step(t, c, at(3), "update")
	c.Answer(at(3), Answer{Result: Conflict}) // another was faster; the watch has not reported it yet
	step(t, c, at(3), "read")
	c.Answer(at(3), Answer{Lease: held("9", "c", 15)})
	step(t, c, at(3), "wait 18s")
}

func TestCoreReadsWithoutAWatch(t *testing.T) {
	c := NewCore(testConfig("a"))
	step(t, c, at(0), "read")
	c.Answer(at(0), Answer{Lease: held("7", "b", 15)})
	step(t, c, at(0), "wait 2s")
	step(t, c, at(2), "read")
	c.Answer(at(2), Answer{Lease: held("7", "b", 15)})
	c.Watching(at(3), true)
	step(t, c, at(3), "read") // for changes before the watch
	c.Answer(at(3), Answer{Lease: held("7", "b", 15)})
	step(t, c, at(3), "wait 15s")
	c.Watching(at(8), false)
	step(t, c, at(8), "read")
	if a := c.Next(at(8), 0); a.Do != Wait {
		t.Errorf("a second request at once: %v", a.Do)
	}
	c.Answer(at(9), Answer{Result: Failed, Err: errTest})
	if !errors.Is(c.Err(), errTest) {
		t.Errorf("Err %v", c.Err())
	}
	a := c.Next(at(9), 0.5)
	if a.Do != Wait || a.Until != 10*time.Second {
		t.Errorf("after a failure: %v until %v", a.Do, a.Until)
	}
	step(t, c, at(10), "read")
}

func TestCoreRenewsEveryRetryPeriod(t *testing.T) {
	c := leading(t, testConfig("a"))
	step(t, c, at(0.1), "wait 2s")
	a := step(t, c, at(2), "update")
	if a.Until != 7*time.Second || a.Lease.ResourceVersion != "1" || !a.Lease.Spec.AcquireTime.Time.Equal(epoch) || !a.Lease.Spec.RenewTime.Time.Equal(at(2).Wall) {
		t.Errorf("renewal %+v", a)
	}
	if c.Until() != 10*time.Second {
		t.Error("our time went on before the answer")
	}
	c.Answer(at(6), Answer{Lease: stored(a.Lease, "2")})
	if c.Until() != 12*time.Second {
		t.Errorf("our time ends at %v", c.Until())
	}
	// Its answer comes too late for the deadline.
	a = step(t, c, at(6), "update")
	c.Answer(at(12), Answer{Lease: stored(a.Lease, "3")})
	phase(t, c, Lost)
	if c.Until() != 0 || c.Lost().Reason != Expired {
		t.Errorf("until %v, lost %v", c.Until(), c.Lost())
	}
}

// The answer to a write is lost. The write was done, was not done, or is done later.
func TestCoreSurvivesLostAnswers(t *testing.T) {
	t.Run("done, seen by a read", func(t *testing.T) {
		c := leading(t, testConfig("a"))
		first := step(t, c, at(2), "update")
		c.Answer(at(4), Answer{Result: Failed, Err: errTest})
		step(t, c, at(4), "update")
		c.Answer(at(4), Answer{Result: Conflict})
		step(t, c, at(4), "read")
		c.Answer(at(5), Answer{Lease: stored(first.Lease, "2")})
		phase(t, c, Leading)
		if c.Until() != 12*time.Second {
			t.Errorf("our time ends at %v", c.Until())
		}
		if a := step(t, c, at(6), "update"); a.Lease.ResourceVersion != "2" {
			t.Errorf("version %v", a.Lease.ResourceVersion)
		}
	})
	t.Run("done, seen by the watch", func(t *testing.T) {
		c := leading(t, testConfig("a"))
		first := step(t, c, at(2), "update")
		c.Observe(at(3), stored(first.Lease, "2"), false)
		if c.Until() != 12*time.Second {
			t.Errorf("our time ends at %v", c.Until())
		}
		c.Answer(at(4), Answer{Result: Failed, Err: errTest})
		if a := step(t, c, at(4), "update"); a.Lease.ResourceVersion != "2" {
			t.Errorf("version %v", a.Lease.ResourceVersion)
		}
	})
	t.Run("the first one, in the place of the second", func(t *testing.T) {
		c := leading(t, testConfig("a"))
		first := step(t, c, at(2), "update")
		c.Answer(at(4), Answer{Result: Failed, Err: errTest})
		step(t, c, at(4), "update")
		c.Observe(at(5), stored(first.Lease, "2"), false)
		c.Answer(at(5), Answer{Result: Conflict})
		phase(t, c, Leading)
		if c.Until() != 12*time.Second {
			t.Errorf("our time ends at %v, want that of the write that was done", c.Until())
		}
		step(t, c, at(6), "update")
	})
	t.Run("the one that took the lease", func(t *testing.T) {
		c := NewCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.Answer(at(0), Answer{Result: Absent})
		a := step(t, c, at(0), "create")
		c.Answer(at(1), Answer{Result: Failed, Err: errTest})
		step(t, c, at(2), "create")
		c.Answer(at(2), Answer{Result: Conflict})
		step(t, c, at(2), "read")
		c.Answer(at(3), Answer{Lease: stored(a.Lease, "1")})
		phase(t, c, Leading)
		if c.Until() != 10*time.Second {
			t.Errorf("our time ends at %v", c.Until())
		}
	})
	t.Run("seen too late to lead", func(t *testing.T) {
		c := NewCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.Answer(at(0), Answer{Result: Absent})
		a := step(t, c, at(0), "create")
		c.Answer(at(6), Answer{Lease: stored(a.Lease, "1")})
		phase(t, c, Standby)
		a = step(t, c, at(6), "update")
		c.Answer(at(6.5), Answer{Lease: stored(a.Lease, "2")})
		phase(t, c, Leading)
		if c.Until() != 16*time.Second || *a.Lease.Spec.LeaseTransitions != 0 {
			t.Errorf("our time ends at %v, %d transitions", c.Until(), *a.Lease.Spec.LeaseTransitions)
		}
	})
}

func TestCoreLosesTheLease(t *testing.T) {
	for name, tc := range map[string]struct {
		what   func(c *Core)
		reason Reason
		text   string
	}{
		"taken":    {func(c *Core) { c.Observe(at(1), held("2", "b", 15), false) }, Taken, `taken by "b"`},
		"released": {func(c *Core) { c.Observe(at(1), held("2", "", 1), false) }, Edited, "another client has released it"},
		"edited":   {func(c *Core) { c.Observe(at(1), held("2", "a", 15), false) }, Edited, `another process with the identity "a"`},
		"deleted":  {func(c *Core) { c.Observe(at(1), held("2", "a", 15), true) }, Deleted, "deleted"},
		"deleted, seen by a renewal": {func(c *Core) {
			c.Next(at(2), 0)
			c.Answer(at(2), Answer{Result: Absent})
		}, Deleted, "deleted"},
		"taken, seen by a renewal": {func(c *Core) {
			c.Next(at(2), 0)
			c.Answer(at(2), Answer{Result: Conflict})
			c.Next(at(2), 0)
			c.Answer(at(2), Answer{Lease: held("2", "b", 15)})
		}, Taken, `taken by "b"`},
		"not renewed": {func(c *Core) {
			c.Next(at(2), 0)
			c.Answer(at(7), Answer{Result: Failed, Err: errTest})
			c.Next(at(7), 0)
			c.Answer(at(10), Answer{Result: Failed, Err: errTest})
		}, Expired, "not renewed in time: the test says so"},
		"suspended": {func(c *Core) { c.Next(at(3600), 0) }, Expired, "not renewed in time"},
	} {
		t.Run(name, func(t *testing.T) {
			c := leading(t, testConfig("a"))
			tc.what(c)
			phase(t, c, Lost)
			if lost := c.Lost(); lost.Reason != tc.reason || !strings.HasSuffix(lost.Error(), tc.text) {
				t.Errorf("lost: %v", lost)
			}
			if c.Until() != 0 {
				t.Errorf("our time ends at %v", c.Until())
			}
			step(t, c, at(3601), "wait") // for the end of the work
		})
	}
}

func TestCoreRenewsWhenAWatchBegins(t *testing.T) {
	c := leading(t, testConfig("a"))
	step(t, c, at(0.2), "wait 2s")
	c.Watching(at(0.2), true)
	step(t, c, at(0.2), "update")
	c.Answer(at(0.2), Answer{Result: Absent})
	phase(t, c, Lost)
}

// A watch begins while a request is open. Neither reports a change between the two.
func TestCoreReadsAgainAfterAWatchBegins(t *testing.T) {
	t.Run("a read", func(t *testing.T) {
		c := NewCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.Watching(at(0.1), true)
		c.Answer(at(0.2), Answer{Lease: held("7", "b", 15)})
		step(t, c, at(0.2), "read")
		c.Answer(at(0.3), Answer{Result: Absent}) // it was deleted in between
		step(t, c, at(0.3), "wait 15.3s")
	})
	t.Run("a read that the watch has overtaken", func(t *testing.T) {
		c := NewCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.Watching(at(0.1), true)
		c.Observe(at(0.1), held("8", "b", 15), false)
		c.Answer(at(0.2), Answer{Lease: held("7", "b", 15)})
		step(t, c, at(0.2), "wait 15.1s")
	})
	t.Run("a renewal", func(t *testing.T) {
		c := leading(t, testConfig("a"))
		c.Watching(at(1), false)
		a := step(t, c, at(2), "update")
		c.Watching(at(2), true)
		c.Answer(at(2.1), Answer{Lease: stored(a.Lease, "9")})
		step(t, c, at(2.1), "update")
	})
}

// Changes of metadata do not matter.
func TestCoreKeepsTheLeaseWhenMetadataChange(t *testing.T) {
	c := leading(t, testConfig("a"))
	a := step(t, c, at(2), "update")
	labelled := stored(a.Lease, "3") // between our write and the next read
	labelled.Labels = map[string]string{"x": "y"}
	c.Observe(at(2), labelled, false)
	c.Answer(at(3), Answer{Lease: stored(a.Lease, "2")})
	phase(t, c, Leading)
	if a = step(t, c, at(4), "update"); a.Lease.ResourceVersion != "3" || a.Lease.Labels["x"] != "y" {
		t.Errorf("version %s, labels %v", a.Lease.ResourceVersion, a.Lease.Labels)
	}
}

// Metadata change all the time. That does not cause a storm of requests.
func TestConflictsDoNotCauseAStorm(t *testing.T) {
	c := leading(t, testConfig("a"))
	requests := map[Do]int{}
	for now := 2.0; now < 6; now += 0.001 {
		a := c.Next(at(now), 0)
		requests[a.Do]++
		switch a.Do {
		case Update:
			c.Answer(at(now), Answer{Result: Conflict})
		case Read:
			c.Answer(at(now), Answer{Lease: stored(c.lease, fmt.Sprint(now*1000))})
		}
	}
	phase(t, c, Leading)
	if requests[Update] != maxConflicts+2 || requests[Read] != maxConflicts+1 {
		t.Errorf("%v requests in 4 s", requests)
	}
}

func TestCoreReleasesTheLeaseWhenStopped(t *testing.T) {
	t.Run("on standby", func(t *testing.T) {
		c := NewCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.Stop(at(0))
		step(t, c, at(0), "finish")
		c.Answer(at(1), Answer{Result: Absent})
		step(t, c, at(1), "finish")
	})
	t.Run("while a claim is open", func(t *testing.T) {
		c := NewCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.Answer(at(0), Answer{Result: Absent})
		a := step(t, c, at(0), "create")
		c.Stop(at(0))
		step(t, c, at(0), "wait 10s")
		c.Answer(at(1), Answer{Lease: stored(a.Lease, "1")})
		phase(t, c, Releasing)
		a = step(t, c, at(1), "update")
		if *a.Lease.Spec.HolderIdentity != "" {
			t.Errorf("wrote %+v", a.Lease.Spec)
		}
		c.Answer(at(1), Answer{Lease: stored(a.Lease, "2")})
		step(t, c, at(1), "finish")
	})
	t.Run("while a claim is open that another wins", func(t *testing.T) {
		c := NewCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.Answer(at(0), Answer{Result: Absent})
		step(t, c, at(0), "create")
		c.Stop(at(0))
		c.Answer(at(1), Answer{Result: Conflict})
		step(t, c, at(1), "read")
		c.Answer(at(1), Answer{Lease: held("1", "b", 15)})
		step(t, c, at(1), "finish")
	})
	t.Run("leading", func(t *testing.T) {
		c := leading(t, testConfig("a"))
		c.Stop(at(1))
		step(t, c, at(1), "wait 2s") // it drains, and still leads
		a := step(t, c, at(2), "update")
		c.Answer(at(2), Answer{Lease: stored(a.Lease, "2")})
		c.Ended(at(3))
		if c.Until() != 0 {
			t.Error("writes pass after the work has ended")
		}
		a = step(t, c, at(3), "update")
		s := a.Lease.Spec
		if *s.HolderIdentity != "" || *s.LeaseDurationSeconds != 1 || *s.LeaseTransitions != 0 || a.Lease.ResourceVersion != "2" {
			t.Errorf("wrote %+v", s)
		}
		c.Answer(at(3), Answer{Lease: stored(a.Lease, "3")})
		step(t, c, at(3), "finish")
		if c.Lost() != nil {
			t.Error(c.Lost())
		}
	})
	t.Run("leading, KeepOnStop", func(t *testing.T) {
		o := testConfig("a")
		o.KeepOnStop = true
		c := leading(t, o)
		c.Stop(at(1))
		c.Ended(at(3))
		step(t, c, at(3), "finish")
	})
	t.Run("leading, with a renewal whose answer is lost", func(t *testing.T) {
		c := leading(t, testConfig("a"))
		renewal := step(t, c, at(2), "update")
		c.Ended(at(3))
		step(t, c, at(3), "wait 13s")
		c.Answer(at(4), Answer{Result: Failed, Err: errTest})
		step(t, c, at(4), "read")
		c.Answer(at(4), Answer{Lease: stored(renewal.Lease, "2")})
		a := step(t, c, at(4), "update")
		if a.Lease.ResourceVersion != "2" {
			t.Errorf("version %v", a.Lease.ResourceVersion)
		}
		c.Answer(at(4), Answer{Result: Failed, Err: errTest})
		step(t, c, at(6), "read")
		c.Answer(at(6), Answer{Lease: stored(a.Lease, "3")})
		step(t, c, at(6), "finish")
	})
	t.Run("leading, without a server", func(t *testing.T) {
		c := leading(t, testConfig("a"))
		c.Ended(at(1))
		step(t, c, at(1), "update")
		step(t, c, at(10.9), "wait 11s")
		step(t, c, at(11), "finish")
	})
	t.Run("lost without a server", func(t *testing.T) {
		c := leading(t, testConfig("a"))
		c.Next(at(10), 0)
		phase(t, c, Lost)
		c.Ended(at(11))
		a := step(t, c, at(11), "update")
		if *a.Lease.Spec.HolderIdentity != "" || a.Lease.ResourceVersion != "1" {
			t.Errorf("wrote %+v", a.Lease)
		}
		c.Answer(at(11), Answer{Result: Conflict})
		step(t, c, at(11), "read")
		c.Answer(at(11), Answer{Lease: held("2", "b", 15)})
		step(t, c, at(11), "finish")
	})
	t.Run("lost to another", func(t *testing.T) {
		c := leading(t, testConfig("a"))
		c.Observe(at(1), held("2", "b", 15), false)
		c.Ended(at(2))
		step(t, c, at(2), "finish")
	})
}

// The server was restored to an earlier state. Its answers count, however low their versions are.
func TestCoreAcceptsTheStateOfARestoredServer(t *testing.T) {
	c := NewCore(testConfig("a"))
	c.Watching(at(0), true)
	step(t, c, at(0), "read")
	c.Answer(at(0), Answer{Lease: held("100", "b", 15)})
	step(t, c, at(15), "update")
	c.Answer(at(15), Answer{Result: Conflict})
	step(t, c, at(15), "read")
	c.Answer(at(15), Answer{Lease: held("50", "", 1)})
	if a := step(t, c, at(15), "update"); a.Lease.ResourceVersion != "50" {
		t.Errorf("version %v", a.Lease.ResourceVersion)
	}
}

// An answer that the watch has overtaken does not undo the watch's events.
func TestAnswerOvertakenByTheWatchIsIgnored(t *testing.T) {
	c := NewCore(testConfig("a"))
	c.Watching(at(0), true)
	step(t, c, at(0), "read")
	c.Observe(at(1), held("8", "", 1), false)
	c.Answer(at(1), Answer{Lease: held("7", "b", 15)})
	if a := step(t, c, at(1), "update"); a.Lease.ResourceVersion != "8" {
		t.Errorf("version %v", a.Lease.ResourceVersion)
	}
}

func TestLeaseTransitionsDoNotOverflow(t *testing.T) {
	c := NewCore(testConfig("a"))
	step(t, c, at(0), "read")
	l := held("7", "", 1)
	l.Spec.LeaseTransitions = new(int32(math.MaxInt32))
	c.Answer(at(0), Answer{Lease: l})
	if a := step(t, c, at(0), "update"); *a.Lease.Spec.LeaseTransitions != math.MaxInt32 {
		t.Errorf("%d transitions", *a.Lease.Spec.LeaseTransitions)
	}
}
