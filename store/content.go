package store

import (
	"bytes"

	"github.com/flyball-io/flyball/pack"
	"github.com/flyball-io/flyball/wire"
)

// sameContent reports whether e, of the version that a slot holds, also says what that says. A server may
// show one version in another way: after a default of the kind or a conversion was changed.
func (c *Core) sameContent(slot uint32, e *Entry) bool {
	w := c.work
	if e.aside != nil || w.asides.Get(slot) != nil {
		return true // there is nothing to compare
	}
	same := false
	w.record(slot, func(kind, template uint32, r record) {
		if e.raw == nil && bytes.Equal(r, e.record) {
			same = true // it came from here
			return
		}
		m := r.meta()
		if is := e.record.meta(); sameDigests(&m, &is, len(e.raw)) {
			same = true
			return
		}
		b, err := w.templates.Get(template).unpack(c.content[:0], m.object)
		if err != nil {
			return // e is taken
		}
		same = wire.Same(wire.Raw{Kind: w.kinds[kind], Encoding: m.encoding(), Bytes: b}, e.Raw())
		if c.content = b; cap(b) > mostKept {
			c.content = nil
		}
	})
	return same
}

// sameDigests reports whether two states of one version are the same by their digests and the length of the
// object. What is in none of the digests is metadata, which a server keeps as it was written.
func sameDigests(held, e *meta, size int) bool {
	if held.flags != e.flags || held.digest != e.digest || held.generation != e.generation || held.deletion != e.deletion {
		return false
	}
	n, err := pack.Size(held.object)
	return err == nil && n == size
}
