package store

// prepared is what an index function said about entries before the index was added.
type prepared map[*Entry]answer

type answer struct {
	values []string
	aside  *Entry // stands for the entry if the function failed
}

// ask asks the index about e, once.
func (p prepared) ask(d *definition, e *Entry) answer {
	if e.aside != nil {
		return answer{}
	}
	a, ok := p[e]
	if !ok {
		var err error
		if a.values, err = d.values(e); err != nil {
			a.aside = SetAside(e.header, err)
		}
		p[e] = a
	}
	return a
}

// AddIndex is Store.AddIndex.
func (c *Core) AddIndex(name string, fn IndexFunc) error {
	return c.addIndex(&definition{name, fn}, prepared{})
}

func (c *Core) checkIndex(d *definition) error {
	if d.name == "" || d.fn == nil {
		return ErrBadIndex
	}
	if c.published.find(d.name) != nil {
		return &IndexExistsError{Resource: c.opts.Resource, Index: d.name}
	}
	return nil
}

func (c *Core) addIndex(d *definition, p prepared) error {
	if err := c.checkIndex(d); err != nil {
		return err
	}
	classify := func(e *Entry) ([]string, *Entry) {
		a := p.ask(d, e)
		return a.values, a.aside
	}
	s := c.published.fork()
	s.addIndex(d, classify, func(e, aside *Entry) {
		c.asides = append(c.asides, Change{Key: e.header.Key, Old: e, New: aside})
		c.replaceOld(e, aside)
	})
	c.publish(s, c.published.synced)
	if c.work != nil {
		c.work.addIndex(d, classify, c.replaceNew)
	}
	return nil
}

// replaceOld makes the open transaction start from aside where it started from e.
func (c *Core) replaceOld(e, aside *Entry) {
	if at, ok := c.touched[e.header.Key]; ok {
		if ch := &c.work.changes[at]; ch.Old == e {
			ch.Old = aside
		}
	}
}

// replaceNew makes the open transaction end at aside where it ended at e.
func (c *Core) replaceNew(e, aside *Entry) {
	if at, ok := c.touched[e.header.Key]; ok {
		if ch := &c.work.changes[at]; ch.New == e {
			ch.New = aside
		}
	}
}

// RemoveIndex is Store.RemoveIndex.
func (c *Core) RemoveIndex(name string) error {
	s := c.published.fork()
	if !s.removeIndex(name) {
		return &UnknownIndexError{Resource: c.opts.Resource, Index: name}
	}
	c.publish(s, c.published.synced)
	if c.work != nil {
		c.work.removeIndex(name)
	}
	return nil
}
