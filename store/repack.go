package store

import "github.com/flyball-io/flyball/internal/pack"

const (
	minRepacked = 512 // bytes of a record from which it is slow to make
	wholeEach   = 16  // one change in so many is packed whole, so that small losses do not add up
	maxGrown    = 64  // how many bytes larger than the record before the record of a change may be
)

// repack packs a change of the object in a slot: from the record that it replaces, if that was packed
// against the same template. ok is false if the change must be packed whole.
func (p *packing) repack(w *transaction, dst []byte, slot uint32, t *template, obj []byte) (packed []byte, ok bool) {
	if w.records.Get(slot) == 0 {
		return dst, false
	}
	w.record(slot, func(_, id uint32, r record) {
		m := r.meta(w.templates.Get(id))
		if len(m.object) < minRepacked || pack.UsesTemplate(m.object) && w.templates.Get(id) != t {
			return
		}
		if p.repacked++; p.repacked%wholeEach == 0 {
			return
		}
		was := pack.Replaced{Record: m.object, Bytes: m.appendIdentity(p.old[:0])}
		was.Known = len(was.Bytes)
		var err error
		if was.Bytes, err = t.unpack(was.Bytes, &m); err != nil {
			return // packed whole; a reader of the record gets the error
		}
		var with *pack.Template
		if t != nil {
			with = p.cache.get(t)
		}
		at := len(dst)
		dst = p.packer.Repack(dst, with, p.known, obj, was)
		if t != nil {
			p.publishLearned(t, with)
		}
		if ok = len(dst)-at <= len(m.object)+maxGrown; !ok {
			dst = dst[:at]
		}
		if p.old = was.Bytes; cap(p.old) > maxKeptBuffer {
			p.old = nil
		}
	})
	return dst, ok
}
