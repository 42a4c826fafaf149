package store

import (
	"hash/maphash"
	"slices"

	"github.com/flyball-io/flyball/internal/pack"
	"github.com/flyball-io/flyball/object"
)

// packing chooses templates and packs objects against them. It belongs to the writer.
//
// A shape is all objects that have the same label and annotation keys. Its second object makes its
// template, a dictionary. A group is a set of nearly equal objects within a shape: those of one controller, of one
// name in several namespaces, or of equal labels. The first object of a controller makes the
// template of its group, unless most controllers of the shape have one object; in other groups the second does. The template of a group is itself packed
// against that of its shape. Single objects are packed against the template of their shape.
type packing struct {
	packer   pack.Packer
	known    []byte // the identity of the current object
	labels   []byte // the labels in front of it
	owner    []byte // and the owner
	old      []byte // memory for the state that it replaces
	repacked uint32 // changes packed from the record before, so far
	groups   map[uint64]*template
	seen     sightings
	// users counts, by template id, the records of the published state. freed are ids for reuse.
	users []int32
	freed []uint32
	held  int64 // bytes of all templates in use

	cache indexCache
}

const (
	maxShapeTemplate = 64 << 10 // limit in bytes of a template that is made for a shape
	maxDictionary    = 64 << 10 // limit in bytes up to which it grows
	plainUsers       = 32       // number of users from which a template is kept unpacked
	maxWorse         = 16       // number of much larger records after which a template is replaced
	maxUseless       = 4        // number of useless attempts after which a template is not tried
	retryAfter       = 64
)

var groupSeed = maphash.MakeSeed()

// shapeOf returns a hash that differs for objects that have little in common.
func shapeOf(h *object.Header, m *meta) uint64 {
	sum := uint64(len(h.Labels))<<32 | uint64(len(h.Annotations))<<8 | uint64(m.flags&flagJSON)
	for k := range h.Labels {
		sum += maphash.String(groupSeed, k)
	}
	for k := range h.Annotations {
		sum += 31 * maphash.String(groupSeed, k)
	}
	return sum
}

// pack appends the packed object of e to dst. It returns the template needed to unpack it; nil if
// none. It sets the labels of m, the front of its record.
func (p *packing) pack(w *transaction, dst []byte, slot uint32, e *Entry, m *meta) ([]byte, *template) {
	h, _ := e.metadata()
	if p.groups == nil {
		p.groups = map[uint64]*template{}
	}
	shape := shapeOf(&h, m)
	t, made := p.choose(shape, &h, m, e.raw)
	if t != nil && t.useless < maxUseless {
		p.putLabels(m, t, made, &h)
		p.putOwner(m, t, &h)
	}
	p.known = m.appendIdentity(p.known[:0])
	at := len(dst)
	if made { // of e itself: the result says nothing about others
		dst = p.append(dst, t, p.known, e.raw)
	} else if again, ok := p.repack(w, dst, slot, t, e.raw); ok {
		dst = again
	} else {
		dst = p.packAgainst(t, dst, e.raw)
	}
	if !pack.UsesTemplate(dst[at:]) {
		if made {
			p.forget(t)
		}
		t = nil
	} else {
		p.addUser(w, t)
	}
	if common := p.groups[shape]; common != nil && common.id == 0 {
		p.forget(common) // it was made just now, and nothing uses it
	}
	return dst, t
}

// choose returns the template for an object, or nil. made says that it was made of this object.
func (p *packing) choose(shape uint64, h *object.Header, m *meta, b []byte) (t *template, made bool) {
	id := maphash.Bytes(groupSeed, m.key)
	if o, ok := h.ControllerOwner(); ok && o.UID != "" {
		key := shape ^ maphash.String(groupSeed, string(o.UID))
		if t = p.groups[key]; t != nil {
			t.pair()
			return t, false
		}
		common, made := p.ofShape(shape, id, m, b)
		if common != nil && common.lonely() && (made || !p.seen.other(key, id, maxSightings)) {
			return common, made
		}
		t = p.derive(b, key, common, &m.digest)
		if t.shape = common; common != nil {
			common.children++
		}
		return t, true
	}
	groups := [...]uint64{shape ^ 3*maphash.String(groupSeed, h.Name), shape ^ 5*m.digest.Labels}
	for _, key := range groups {
		if t = p.groups[key]; t != nil && key != shape {
			return t, false
		}
	}
	common, made := p.ofShape(shape, id, m, b)
	for _, key := range groups {
		if key != shape && p.seen.other(key, id, maxSightings) && !made {
			return p.derive(b, key, common, &m.digest), true
		}
	}
	return common, made
}

// ofShape returns the template of a shape, if it had another object lately. made says that it was made
// of b.
func (p *packing) ofShape(shape, id uint64, m *meta, b []byte) (t *template, made bool) {
	if t = p.groups[shape]; t != nil || !p.seen.other(shape, id, maxSightings) || len(b) > maxShapeTemplate {
		return t, false
	}
	t = newTemplate(body{bytes: slices.Clone(b)}, shape, &m.digest)
	t.dictionary = true
	p.groups[shape] = t
	return t, true
}

// append appends the record of b to dst. A dictionary may grow.
func (p *packing) append(dst []byte, t *template, known, b []byte) []byte {
	if t == nil {
		return p.packer.Append(dst, nil, known, b)
	}
	with := p.cache.get(t)
	dst = p.packer.Append(dst, with, known, b)
	p.publishLearned(t, with)
	return dst
}

// publishLearned gives readers what a dictionary has learned. It must follow each use of the packer:
// the next record may copy from it.
func (p *packing) publishLearned(t *template, with *pack.Template) {
	is := with.Bytes()
	if !t.dictionary || len(is) == len(t.body.Load().bytes) {
		return
	}
	was := t.held()
	t.body.Store(&body{bytes: is})
	p.grown(t, was)
}

// packUnstored packs an entry that is not stored, against t. t may be nil.
func (p *packing) packUnstored(e *Entry, t *template) *Entry {
	if e.rejected != nil || e.raw == nil {
		return e
	}
	m := e.meta()
	p.known = m.appendIdentity(p.known[:0])
	r := m.append(make(record, 0, len(e.record)+len(e.raw)/8), t)
	r = p.append(r, t, p.known, e.raw)
	return e.packed(r, t)
}

// derive makes the template of a group of b. It is kept as a difference from parent if that is
// small.
func (p *packing) derive(b []byte, group uint64, parent *template, d *digest) *template {
	made := body{p.append(nil, parent, nil, b), parent}
	switch {
	case len(made.bytes) > len(b)*3/4:
		made = body{bytes: b}
	case !pack.UsesTemplate(made.bytes):
		made.parent = nothing
	}
	made.bytes = slices.Clone(made.bytes)
	t := newTemplate(made, group, d)
	p.groups[group] = t
	return t
}

// packAgainst packs b against a template, or nil, and updates the figures of the template.
func (p *packing) packAgainst(t *template, dst, b []byte) []byte {
	if t == nil {
		return p.append(dst, nil, p.known, b)
	}
	if t.useless >= maxUseless {
		if t.useless++; t.useless == retryAfter {
			t.useless = maxUseless - 1
		}
		return p.append(dst, nil, p.known, b)
	}
	at := len(dst)
	dst = p.append(dst, t, p.known, b)
	n := len(dst) - at
	switch t.count++; {
	case n <= len(b)/2:
		t.useless = 0
	case t.useless > 0 || t.count%8 == 1: // is it any better than nothing?
		end := len(dst)
		dst = p.append(dst, nil, p.known, b)
		if alone := len(dst) - end; alone <= n {
			copy(dst[at:], dst[end:])
			dst = dst[:at+alone]
			if t.useless++; t.useless == maxUseless {
				p.cache.drop(t)
			}
		} else {
			dst, t.useless = dst[:end], 0
		}
	}
	switch {
	case t.usual == 0:
		t.usual = uint32(n)
	case n > 2*int(t.usual)+64:
		if t.worse++; t.worse >= maxWorse {
			p.forget(t) // the objects have changed
		}
	default:
		t.worse = 0
		t.usual = uint32((7*int(t.usual) + n) / 8)
	}
	return dst
}

// addUser adds the template to the table of the state if need be, and counts a record, or a template
// that is packed against it.
func (p *packing) addUser(w *transaction, t *template) {
	if t.id == 0 || w.templates.Get(t.id) != t {
		t.id = p.newID()
		w.templates.Set(w.owner, t.id, t)
		w.newTemplates = append(w.newTemplates, t.id)
		p.held += t.held()
		if parent := t.body.Load().parent; parent != nil && parent != nothing {
			p.addUser(w, parent)
		}
	}
	w.uses[t.id]++
}

// newID returns a free template id.
func (p *packing) newID() uint32 {
	if n := len(p.freed); n > 0 {
		id := p.freed[n-1]
		p.freed = p.freed[:n-1]
		return id
	}
	if len(p.users) == 0 {
		p.users = append(p.users, 0) // id 0 means no template
	}
	p.users = append(p.users, 0)
	return uint32(len(p.users) - 1)
}

// countUsers counts the template users of a transaction before it is published. It removes templates
// without users, and unpacks those with many.
func (p *packing) countUsers(w *transaction) {
	for _, id := range w.newTemplates {
		w.uses[id] += 0 // also one that no record uses any more
	}
	for id, n := range w.uses {
		p.users[id] += n
	}
	for id := range w.uses {
		p.settle(w, id)
	}
}

// settle removes a template without users, and unpacks one with many.
func (p *packing) settle(w *transaction, id uint32) {
	t := w.templates.Get(id)
	if t == nil {
		return // the last template that was packed against it is removed, too
	}
	b := t.body.Load()
	switch {
	case p.users[id] == 0:
		w.templates.Set(w.owner, id, nil)
		p.drop(t)
		p.freed = append(p.freed, id)
	case p.users[id] >= plainUsers && b.parent != nil:
		p.unpackTemplate(t)
	default:
		return
	}
	if b.parent != nil && b.parent != nothing {
		p.users[b.parent.id]--
		p.settle(w, b.parent.id)
	}
}

func (p *packing) unpackTemplate(t *template) {
	plain, err := t.unpacked()
	if err != nil {
		panic(err)
	}
	p.held -= t.held()
	t.body.Store(&body{bytes: plain})
	t.shared.Store(nil) // the next one has more places
	p.held += t.held()
}

// drop removes a template that no later state uses.
func (p *packing) drop(t *template) {
	p.held -= t.held()
	if l := t.labels.Load(); l != nil && l.owner == t {
		l.owner = nil // others may have it
	}
	p.forget(t)
}

// forget removes a template from its group. Later records use other templates.
func (p *packing) forget(t *template) {
	if p.groups[t.group] == t {
		delete(p.groups, t.group)
	}
	p.cache.drop(t)
}

// undo reverts the effects of a discarded transaction.
func (p *packing) undo(w *transaction) {
	for _, id := range w.newTemplates {
		p.drop(w.templates.Get(id))
		p.freed = append(p.freed, id)
	}
}

// templates counts the templates in use.
func (p *packing) templates() int { return max(len(p.users)-1-len(p.freed), 0) }

// sightings remembers which groups had an object lately: one for each group. It is a table of hashes in
// buckets of four. It forgets: a bucket the oldest of five groups, and all of them when it grows.
type sightings struct {
	table []uint64 // upper half: of the group; lower half: of the object
	n     int      // entries since it grew
}

const minSightings, maxSightings = 64, 16 << 10

// other reports whether another object of the group was seen, and notes this one. The table has at most so many entries.
func (s *sightings) other(group, object uint64, most int) bool {
	if s.n >= len(s.table) && len(s.table) < most {
		s.table, s.n = make([]uint64, max(minSightings, 4*len(s.table))), 0
	}
	bucket := s.table[group%uint64(len(s.table))&^3:][:4]
	is := group&^(1<<32-1) | object>>32
	for _, was := range bucket {
		if was>>32 == is>>32 && was != 0 {
			return was != is
		}
	}
	copy(bucket[1:], bucket)
	bucket[0] = is
	s.n++
	return false
}
