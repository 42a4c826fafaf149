package leader

import "testing"

func TestCoreReleasesTheLeaseWhenStopped(t *testing.T) {
	t.Run("on standby", func(t *testing.T) {
		c := testCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.take(at(0), input{event: stopped})
		step(t, c, at(0), "finish")
		c.take(at(1), input{event: answered, result: absent})
		step(t, c, at(1), "finish")
	})
	t.Run("while a claim is open", func(t *testing.T) {
		c := testCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.take(at(0), input{event: answered, result: absent})
		a := step(t, c, at(0), "create")
		c.take(at(0), input{event: stopped})
		step(t, c, at(0), "wait 10s")
		c.take(at(1), input{event: answered, lease: stored(a.lease, "1")})
		wantPhase(t, c, releasing)
		a = step(t, c, at(1), "update")
		if *a.lease.Spec.HolderIdentity != "" {
			t.Errorf("wrote %+v", a.lease.Spec)
		}
		c.take(at(1), input{event: answered, lease: stored(a.lease, "2")})
		step(t, c, at(1), "finish")
	})
	t.Run("while a claim is open that another wins", func(t *testing.T) {
		c := testCore(testConfig("a"))
		step(t, c, at(0), "read")
		c.take(at(0), input{event: answered, result: absent})
		step(t, c, at(0), "create")
		c.take(at(0), input{event: stopped})
		c.take(at(1), input{event: answered, result: conflict})
		step(t, c, at(1), "read")
		c.take(at(1), input{event: answered, lease: held("1", "b", 15)})
		step(t, c, at(1), "finish")
	})
	t.Run("leading", func(t *testing.T) {
		c := leadingCore(t, testConfig("a"))
		c.take(at(1), input{event: stopped})
		step(t, c, at(1), "wait 2s") // it drains, and still leads
		a := step(t, c, at(2), "update")
		c.take(at(2), input{event: answered, lease: stored(a.lease, "2")})
		c.take(at(3), input{event: ended})
		if c.until() != 0 {
			t.Error("writes pass after the work has ended")
		}
		a = step(t, c, at(3), "update")
		s := a.lease.Spec
		if *s.HolderIdentity != "" || *s.LeaseDurationSeconds != 1 || *s.LeaseTransitions != 0 || a.lease.ResourceVersion != "2" {
			t.Errorf("wrote %+v", s)
		}
		c.take(at(3), input{event: answered, lease: stored(a.lease, "3")})
		step(t, c, at(3), "finish")
		if c.lost != nil {
			t.Error(c.lost)
		}
	})
	t.Run("leading, KeepOnStop", func(t *testing.T) {
		o := testConfig("a")
		o.KeepOnStop = true
		c := leadingCore(t, o)
		c.take(at(1), input{event: stopped})
		c.take(at(3), input{event: ended})
		step(t, c, at(3), "finish")
	})
	t.Run("leading, with a renewal whose answer is lost", func(t *testing.T) {
		c := leadingCore(t, testConfig("a"))
		renewal := step(t, c, at(2), "update")
		c.take(at(3), input{event: ended})
		step(t, c, at(3), "wait 13s")
		c.take(at(4), input{event: answered, result: failed, err: errTest})
		step(t, c, at(4), "read")
		c.take(at(4), input{event: answered, lease: stored(renewal.lease, "2")})
		a := step(t, c, at(4), "update")
		if a.lease.ResourceVersion != "2" {
			t.Errorf("version %v", a.lease.ResourceVersion)
		}
		c.take(at(4), input{event: answered, result: failed, err: errTest})
		step(t, c, at(6), "read")
		c.take(at(6), input{event: answered, lease: stored(a.lease, "3")})
		step(t, c, at(6), "finish")
	})
	t.Run("leading, without a server", func(t *testing.T) {
		c := leadingCore(t, testConfig("a"))
		c.take(at(1), input{event: ended})
		step(t, c, at(1), "update")
		step(t, c, at(10.9), "wait 11s")
		step(t, c, at(11), "finish")
	})
	t.Run("lost without a server", func(t *testing.T) {
		c := leadingCore(t, testConfig("a"))
		c.tick(at(10))
		wantPhase(t, c, lost)
		c.take(at(11), input{event: ended})
		a := step(t, c, at(11), "update")
		if *a.lease.Spec.HolderIdentity != "" || a.lease.ResourceVersion != "1" {
			t.Errorf("wrote %+v", a.lease)
		}
		c.take(at(11), input{event: answered, result: conflict})
		step(t, c, at(11), "read")
		c.take(at(11), input{event: answered, lease: held("2", "b", 15)})
		step(t, c, at(11), "finish")
	})
	t.Run("lost to another", func(t *testing.T) {
		c := leadingCore(t, testConfig("a"))
		c.take(at(1), input{event: observed, lease: held("2", "b", 15)})
		c.take(at(2), input{event: ended})
		step(t, c, at(2), "finish")
	})
}
