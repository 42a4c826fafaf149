package leader

import (
	"math"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// renewed returns a Lease whose holder has renewed it since it was taken.
func renewed(version, holder string, seconds int32) *coordinationv1.Lease {
	l := held(version, holder, seconds)
	l.Spec.RenewTime = new(metav1.NewMicroTime(epoch.Add(time.Minute)))
	return l
}

// A holder whose Lease is removed by another may not know yet. It is waited for as if the Lease
// were still there.
func TestCoreWaitsForTheHolderOfALeaseThatIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		what func(c *Core) // from 3 s on, after b has held it since 0 s
		do   string        // at 5 s, with a watch
	}{
		"deleted":                  {func(c *Core) { c.Observe(at(3), renewed("8", "b", 15), true) }, "wait 15s"},
		"deleted, an unseen state": {func(c *Core) { c.Observe(at(3), renewed("9", "c", 15), true) }, "wait 18s"},
		"deleted, seen by a read": {func(c *Core) {
			c.Watching(at(3), false)
			c.Watching(at(3), true)
			c.Next(at(3), 0)
			c.Answer(at(4), Answer{Result: Absent})
		}, "wait 19s"},
		"without a holder, seen as a watch begins": {func(c *Core) {
			c.Watching(at(3), false)
			c.Watching(at(3), true)
			c.Observe(at(4), renewed("9", "", 15), false)
		}, "wait 19s"},
		"without a holder": {func(c *Core) { c.Observe(at(3), renewed("9", "", 15), false) }, "wait 15s"},
		"emptied": {func(c *Core) {
			l := renewed("9", "", 15)
			l.Spec = coordinationv1.LeaseSpec{}
			c.Observe(at(3), l, false)
		}, "wait 15s"},
		"released":               {func(c *Core) { c.Observe(at(3), held("9", "", 1), false) }, "update"},
		"released, then deleted": {func(c *Core) { c.Observe(at(3), held("9", "", 1), false); c.Observe(at(4), held("10", "", 1), true) }, "create"},
		"created again by a newcomer": {func(c *Core) {
			c.Observe(at(3), renewed("8", "b", 15), true)
			c.Observe(at(4), held("9", "c", 15), false)
		}, "wait 19s"},
		"and released by that": {func(c *Core) {
			c.Observe(at(3), renewed("8", "b", 15), true)
			c.Observe(at(4), held("9", "c", 15), false)
			c.Observe(at(4), held("10", "", 1), false)
		}, "wait 15s"},
		"given to another by hand": {func(c *Core) { c.Observe(at(3), renewed("9", "c", 1), false) }, "wait 18s"},
		"deleted, 68 years": {func(c *Core) {
			c.Observe(at(3), held("9", "b", math.MaxInt32), false)
			c.Observe(at(3), held("10", "b", math.MaxInt32), true)
		}, "wait 5m3s"},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCore(testConfig("a"))
			c.Watching(at(0), true)
			step(t, c, at(0), "read")
			c.Answer(at(0), Answer{Lease: renewed("7", "b", 15)})
			tc.what(c)
			phase(t, c, Standby)
			step(t, c, at(5), tc.do)
		})
	}
	t.Run("without a watch", func(t *testing.T) {
		c := NewCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.Answer(at(0), Answer{Lease: renewed("7", "b", 15)})
		for now := 2.0; now < 17; now += 2 { // the holder may have renewed it until just before the first read
			step(t, c, at(now), "read")
			c.Answer(at(now), Answer{Result: Absent})
		}
		step(t, c, at(16.5), "wait 17s")
		step(t, c, at(17), "create")
	})
	t.Run("silent watch", func(t *testing.T) { // the watch has reported no renewal
		c := NewCore(testConfig("a"))
		c.Watching(at(0), true)
		step(t, c, at(0), "read")
		c.Answer(at(0), Answer{Lease: renewed("7", "b", 15)})
		step(t, c, at(15), "update")
		c.Answer(at(15), Answer{Result: Absent})
		step(t, c, at(15), "wait 30s")
	})
	t.Run("created again, unseen", func(t *testing.T) {
		c := NewCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.Answer(at(0), Answer{Lease: renewed("7", "b", 60)})
		step(t, c, at(2), "read")
		again := held("9", "c", 15)
		again.UID = "another"
		c.Answer(at(2), Answer{Lease: again})
		step(t, c, at(4), "read")
		released := held("10", "", 1)
		released.UID = "another"
		c.Answer(at(4), Answer{Lease: released})
		step(t, c, at(5), "wait 6s")
		step(t, c, at(6), "read")
		c.Answer(at(6), Answer{Lease: released})
		c.Watching(at(6), true)
		step(t, c, at(6), "read")
		c.Answer(at(6), Answer{Lease: released})
		step(t, c, at(6), "wait 1m2s")
	})
}

// A candidate that finds no Lease creates one at once, unless it must wait for a holder that it
// cannot know of.
func TestCoreTakesAnAbsentLeaseAfterAbsentWait(t *testing.T) {
	o := testConfig("a")
	o.AbsentWait = 4 * time.Second
	c := NewCore(o)
	c.Watching(at(0), true)
	step(t, c, at(0), "read")
	c.Answer(at(1), Answer{Result: Absent})
	step(t, c, at(1), "wait 5s")
	c.Watching(at(2), false)
	step(t, c, at(2), "read")
	c.Answer(at(3), Answer{Result: Absent})
	step(t, c, at(3), "wait 4s")
	step(t, c, at(4), "read")
	c.Answer(at(4), Answer{Result: Absent})
	step(t, c, at(5), "create")
}
