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
		what func(c *core) // from 3 s on, after b has held it since 0 s
		do   string        // at 5 s, with a watch
	}{
		"deleted":                  {func(c *core) { c.take(at(3), input{event: deleted, lease: renewed("8", "b", 15)}) }, "wait 15s"},
		"deleted, an unseen state": {func(c *core) { c.take(at(3), input{event: deleted, lease: renewed("9", "c", 15)}) }, "wait 18s"},
		"deleted, seen by a read": {func(c *core) {
			c.take(at(3), input{event: unwatched})
			c.take(at(3), input{event: watching})
			c.tick(at(3))
			c.take(at(4), input{event: answered, result: absent})
		}, "wait 19s"},
		"without a holder, seen as a watch begins": {func(c *core) {
			c.take(at(3), input{event: unwatched})
			c.take(at(3), input{event: watching})
			c.take(at(4), input{event: observed, lease: renewed("9", "", 15)})
		}, "wait 19s"},
		"without a holder": {func(c *core) { c.take(at(3), input{event: observed, lease: renewed("9", "", 15)}) }, "wait 15s"},
		"emptied": {func(c *core) {
			l := renewed("9", "", 15)
			l.Spec = coordinationv1.LeaseSpec{}
			c.take(at(3), input{event: observed, lease: l})
		}, "wait 15s"},
		"released": {func(c *core) { c.take(at(3), input{event: observed, lease: held("9", "", 1)}) }, "update"},
		"released, then deleted": {func(c *core) {
			c.take(at(3), input{event: observed, lease: held("9", "", 1)})
			c.take(at(4), input{event: deleted, lease: held("10", "", 1)})
		}, "create"},
		"created again by a newcomer": {func(c *core) {
			c.take(at(3), input{event: deleted, lease: renewed("8", "b", 15)})
			c.take(at(4), input{event: observed, lease: held("9", "c", 15)})
		}, "wait 19s"},
		"and released by that": {func(c *core) {
			c.take(at(3), input{event: deleted, lease: renewed("8", "b", 15)})
			c.take(at(4), input{event: observed, lease: held("9", "c", 15)})
			c.take(at(4), input{event: observed, lease: held("10", "", 1)})
		}, "wait 15s"},
		"given to another by hand": {func(c *core) { c.take(at(3), input{event: observed, lease: renewed("9", "c", 1)}) }, "wait 18s"},
		"deleted, 68 years": {func(c *core) {
			c.take(at(3), input{event: observed, lease: held("9", "b", math.MaxInt32)})
			c.take(at(3), input{event: deleted, lease: held("10", "b", math.MaxInt32)})
		}, "wait 5m3s"},
	} {
		t.Run(name, func(t *testing.T) {
			c := testCore(testConfig("a"))
			c.take(at(0), input{event: watching})
			step(t, c, at(0), "read")
			c.take(at(0), input{event: answered, lease: renewed("7", "b", 15)})
			tc.what(c)
			wantPhase(t, c, standby)
			step(t, c, at(5), tc.do)
		})
	}
	t.Run("without a watch", func(t *testing.T) {
		c := testCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.take(at(0), input{event: answered, lease: renewed("7", "b", 15)})
		for now := 2.0; now < 17; now += 2 { // the holder may have renewed it until just before the first read
			step(t, c, at(now), "read")
			c.take(at(now), input{event: answered, result: absent})
		}
		step(t, c, at(16.5), "wait 17s")
		step(t, c, at(17), "create")
	})
	t.Run("silent watch", func(t *testing.T) { // the watch has reported no renewal
		c := testCore(testConfig("a"))
		c.take(at(0), input{event: watching})
		step(t, c, at(0), "read")
		c.take(at(0), input{event: answered, lease: renewed("7", "b", 15)})
		step(t, c, at(15), "update")
		c.take(at(15), input{event: answered, result: absent})
		step(t, c, at(15), "wait 30s")
	})
	t.Run("created again, unseen", func(t *testing.T) {
		c := testCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.take(at(0), input{event: answered, lease: renewed("7", "b", 60)})
		step(t, c, at(2), "read")
		again := held("9", "c", 15)
		again.UID = "another"
		c.take(at(2), input{event: answered, lease: again})
		step(t, c, at(4), "read")
		released := held("10", "", 1)
		released.UID = "another"
		c.take(at(4), input{event: answered, lease: released})
		step(t, c, at(5), "wait 6s")
		step(t, c, at(6), "read")
		c.take(at(6), input{event: answered, lease: released})
		c.take(at(6), input{event: watching})
		step(t, c, at(6), "read")
		c.take(at(6), input{event: answered, lease: released})
		step(t, c, at(6), "wait 1m2s")
	})
}

// A candidate that finds no Lease creates one at once, unless it must wait for a holder that it
// cannot know of.
func TestCoreTakesAnAbsentLeaseAfterAbsentWait(t *testing.T) {
	o := testConfig("a")
	o.AbsentWait = 4 * time.Second
	c := testCore(o)
	c.take(at(0), input{event: watching})
	step(t, c, at(0), "read")
	c.take(at(1), input{event: answered, result: absent})
	step(t, c, at(1), "wait 5s")
	c.take(at(2), input{event: unwatched})
	step(t, c, at(2), "read")
	c.take(at(3), input{event: answered, result: absent})
	step(t, c, at(3), "wait 4s")
	step(t, c, at(4), "read")
	c.take(at(4), input{event: answered, result: absent})
	step(t, c, at(5), "create")
}
