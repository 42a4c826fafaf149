package reflector

import (
	"github.com/flyball-io/flyball/store"
)

// tally counts the objects of a list by what is known of their keys.
type tally struct {
	namespaced, bare int // with a namespace, and without
	unplaced         int // that say no name, or one of another namespace than is watched
	err              error
}

// odd is how many of the objects are missing, or perhaps under the wrong key.
func (t *tally) odd() int { return t.unplaced + min(t.namespaced, t.bare) }

// misplaced says why an object cannot be placed by its key; nil if it can.
func (c *Core) misplaced(e *store.Entry) error {
	key := e.Key()
	switch {
	case key.Name == "" && e.Err() != nil:
		return e.Err()
	case key.Name == "":
		return ErrNoName
	case c.cfg.Namespace != "" && key.Namespace != "" && key.Namespace != c.cfg.Namespace:
		return ErrNamespace
	}
	return nil
}

// listed passes on an object of a list, and counts it.
func (c *Core) listed(e *store.Entry) {
	err := c.misplaced(e)
	switch {
	case err != nil:
		c.report(e, err)
		c.tally.unplaced++
		c.tally.err = err
		return
	case e.Key().Namespace == "":
		c.tally.bare++
	default:
		c.tally.namespaced++
	}
	c.missed(e)
	c.put(Upsert, e)
}

// incomplete says why a list cannot be taken over: it has more objects without a key than the one
// before, so that an object that seems to be missing may be among them; or nothing else. What could
// not be placed in the first list is not held, and nothing is lost by taking the others over.
func (c *Core) incomplete() error {
	t := &c.tally
	if n := t.odd(); n == 0 || (t.namespaced > 0 || t.bare > 0) && (!c.holds() || n <= c.whole.odd()) {
		return nil
	}
	if t.err == nil {
		return ErrNamespace
	}
	return t.err
}

// holds reports whether the sink has content.
func (c *Core) holds() bool { return c.state.HasSynced && !c.missing.gone }

// hidden says why an event cannot be placed; nil if it can. Objects of one kind have all a namespace,
// or none has.
func (c *Core) hidden(e *store.Entry) error {
	bare := e.Key().Namespace == ""
	if err := c.misplaced(e); err != nil {
		return err
	}
	if bare && c.whole.namespaced > 0 && c.whole.bare == 0 || !bare && c.whole.bare > 0 && c.whole.namespaced == 0 {
		return ErrNamespace
	}
	return nil
}

// doubtful ends a watch that may have lost something. A list finds out: at once, if nothing was wrong
// before.
func (c *Core) doubtful(at moment, err error, p plan) Action {
	c.doubt++
	if c.another(at) {
		c.bad(at, c.failed(), "watch", err)
		return c.list(at, p)
	}
	c.plan = p
	return c.delay(at, "watch", err, listing, 0)
}

// proven ends the doubt about a watch that has gone well for a while.
func (c *Core) proven(at moment) {
	if c.doubt > 0 && at.now.Sub(c.opened) >= quickWatch {
		c.doubt = 0
		c.good(at)
	}
}
