package reflector

import (
	"github.com/flyball-io/flyball/store"
)

// tally counts the objects of a list by their keys.
type tally struct {
	namespaced  int // with a namespace
	clusterWide int // without a namespace
	unplaced    int // without a name, or of a namespace that is not watched
	err         error
}

// keyless returns how many objects are missing, or may have a wrong key.
func (t *tally) keyless() int { return t.unplaced + min(t.namespaced, t.clusterWide) }

// keyError returns why the key of an object is unusable, or nil. A watch of one namespace takes no readable object
// without one: the kind is cluster-scoped now, and each such watch would have all objects.
func (c *core) keyError(e *store.Entry) error {
	key := e.Key()
	switch {
	case key.Name == "" && e.Err() != nil:
		return e.Err()
	case key.Name == "":
		return ErrNoName
	case c.cfg.Namespace != "" && key.Namespace != c.cfg.Namespace && (key.Namespace != "" || e.Err() == nil):
		return ErrNamespace
	}
	return nil
}

// listed counts an object of a list, and puts it.
func (c *core) listed(e *store.Entry) {
	err := c.keyError(e)
	switch {
	case err != nil:
		c.report(e, err)
		c.tally.unplaced++
		c.tally.err = err
		return
	case e.Key().Namespace == "":
		c.tally.clusterWide++
	default:
		c.tally.namespaced++
	}
	c.countLost(e)
	c.put(Put, e)
}

// incomplete returns why a list must not replace the content, or nil. A list with more keyless objects
// than the last one may hide a held object among them. A list of keyless objects alone is rejected too.
// The first list has nothing to replace: its other objects are taken.
func (c *core) incomplete() error {
	t := &c.tally
	if n := t.keyless(); n == 0 || (t.namespaced > 0 || t.clusterWide > 0) && (!c.holds() || n <= c.lastTally.keyless()) {
		return nil
	}
	if t.err == nil {
		return ErrNamespace
	}
	return t.err
}

// holds reports whether the sink has content.
func (c *core) holds() bool { return c.state.HasSynced && !c.missing.gone }

// eventKeyError returns why the key of an event's object is unusable, or nil. Either all objects of a
// kind have a namespace, or none has.
func (c *core) eventKeyError(e *store.Entry) error {
	bare := e.Key().Namespace == ""
	if err := c.keyError(e); err != nil {
		return err
	}
	if bare && c.lastTally.namespaced > 0 && c.lastTally.clusterWide == 0 || !bare && c.lastTally.clusterWide > 0 && c.lastTally.namespaced == 0 {
		return ErrNamespace
	}
	return nil
}

// relistSuspect ends a watch that may have lost events, and lists. The list starts at once if nothing was
// wrong before, else after a backoff.
func (c *core) relistSuspect(at stepTime, err error, p plan) action {
	c.suspect++
	if c.countFailure(at) {
		c.markBad(at, c.failedPhase(), "watch", err)
		return c.list(at, p)
	}
	c.plan = p
	return c.delay(at, "watch", err, listing, 0)
}

// confirmWatch ends the suspicion against a watch that has worked for quickWatch.
func (c *core) confirmWatch(at stepTime) {
	if c.suspect > 0 && at.now.Sub(c.opened) >= quickWatch {
		c.suspect = 0
		c.markGood(at)
	}
}
