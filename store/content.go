package store

import (
	"bytes"

	"github.com/flyball-io/flyball/internal/pack"
	"github.com/flyball-io/flyball/internal/wire"
)

// sameContent reports whether e has the same content as the stored entry of the same version. A
// server may show one version in another way after a default of the kind, or a conversion, was
// changed.
func (c *core) sameContent(slot uint32, held, e *Entry) bool {
	if e.rejected != nil || held.rejected != nil {
		return true // nothing to compare
	}
	if e.raw == nil && held.template == e.template && bytes.Equal(held.record, e.record) {
		return true // it came from this store
	}
	was, is := held.meta(), e.meta()
	if sameDigests(&was, &is, len(e.raw)) {
		return true
	}
	w := c.txn
	var kind uint32
	w.record(slot, func(k, _ uint32, _ record) { kind = k })
	b, err := held.template.unpack(c.content[:0], &was)
	if err != nil {
		return false // store e
	}
	if c.content = b; cap(b) > maxKeptBuffer {
		c.content = nil
	}
	return wire.Same(wire.Raw{Kind: w.kinds[kind], Encoding: was.encoding(), Bytes: b}, e.Raw())
}

// sameDigests reports whether two states of one version are equal by their digests and the length
// of the object. The digests leave out only metadata that a server keeps as it was written.
func sameDigests(held, e *meta, size int) bool {
	if (held.flags^e.flags)&(flagJSON|flagUUID|flagNumber|flagDeleting) != 0 || held.digest != e.digest || held.generation != e.generation || held.deletion != e.deletion {
		return false
	}
	n, err := pack.Size(held.object)
	return err == nil && n == size
}
