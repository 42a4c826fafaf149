package store

import (
	"bytes"
	"hash/maphash"

	"github.com/flyball-io/flyball/object"
)

// guesses says where the writer last put a key: a hash of it leads to a slot, which is then looked
// at. What it does not know, or not any more, is found by the tree.
type guesses struct {
	seed  maphash.Seed
	slots map[uint32]uint32
}

func newGuesses() guesses { return guesses{maphash.MakeSeed(), map[uint32]uint32{}} }

func (g *guesses) hash(key []byte) uint32 { return uint32(maphash.Bytes(g.seed, key)) }

// find is state.find, for the writer.
func (c *Core) find(key object.Key) (slot uint32, ok bool) {
	var room [128]byte
	w := c.work
	k := appendKey(room[:0], key)
	if slot, ok = c.guesses.slots[c.guesses.hash(k)]; ok && w.records.Get(slot) != 0 && bytes.Equal(w.key(slot), k) {
		return slot, true
	}
	if slot, ok = w.keys.Get(w.at(k)); ok {
		c.guesses.put(k, slot, w.keys.Len())
	}
	return slot, ok
}

// put notes the slot of a key. n is how many keys there are.
func (g *guesses) put(key []byte, slot uint32, n int) {
	if len(g.slots) > 2*n+1024 {
		g.slots = map[uint32]uint32{} // a map never shrinks
	}
	g.slots[g.hash(key)] = slot
}

func (g *guesses) drop(key []byte) { delete(g.slots, g.hash(key)) }
