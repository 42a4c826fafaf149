package store

import (
	"hash/maphash"
	"slices"

	"github.com/flyball-io/flyball/internal/pack"
	"github.com/flyball-io/flyball/object"
)

// packing chooses templates and packs objects against them. It belongs to the writer.
//
// A group is a set of nearly equal objects: those of one controller, or those of one name in
// several namespaces. The second object of a group makes the group's template. Until then, and for
// single objects, the template of their shape serves. A shape is all objects that have the same
// label and annotation keys. The template of a group is itself packed against that of its shape.
type packing struct {
	packer pack.Packer
	known  []byte // the identity of the current object
	groups map[uint64]group
	sweep  int // number of groups above which those without a template are deleted
	// users counts, by template id, the records of the published state. freed are ids for reuse.
	users []int32
	freed []uint32
	held  int64 // bytes of all templates in use

	cache indexCache
}

// group describes objects that may be packed against one another.
type group struct {
	template *template
	first    uint32 // slot of the first object, plus one
	usual    uint32 // usual bytes of a record
	worse    uint8  // records in a row that were much larger
	useless  uint8  // records that the template made no smaller
}

const (
	maxShapeTemplate = 64 << 10 // limit in bytes of a template that is made for a shape
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

// groupOf returns the hash of an object's group within its shape.
func groupOf(h *object.Header, shape uint64) uint64 {
	if o, ok := h.ControllerOwner(); ok && o.UID != "" {
		return shape ^ maphash.String(groupSeed, string(o.UID))
	}
	return shape ^ 3*maphash.String(groupSeed, h.Name)
}

// pack appends the packed object of e to dst. It returns the template needed to unpack it; nil if
// none.
func (p *packing) pack(w *transaction, dst []byte, slot uint32, e *Entry) ([]byte, *template) {
	h, m := e.metadata(), e.meta()
	p.known = m.appendIdentity(p.known[:0])
	shape := shapeOf(&h, &m)
	key := groupOf(&h, shape)
	if p.groups == nil {
		p.groups = map[uint64]group{}
	}
	of, common := p.groups[key], p.groups[shape]
	own := false // the template is made of e itself: its result says nothing about others
	switch {
	case common.first == 0:
		common.first = slot + 1
	case common.template == nil && common.first != slot+1 && len(e.raw) <= maxShapeTemplate:
		common.template, own = newTemplate(body{bytes: slices.Clone(e.raw), size: len(e.raw)}, shape, &m.digest), true
	}
	switch {
	case of.first == 0:
		of.first = slot + 1
	case of.template == nil && of.first != slot+1:
		of.template, own = p.derive(e.raw, key, common.template, &m.digest), true
	}
	g := &of
	if of.template == nil {
		g = &common
	}
	at, t := len(dst), g.template
	if own {
		dst = p.packer.Append(dst, p.cache.get(t), p.known, e.raw)
	} else {
		dst = p.packAgainst(g, dst, e.raw)
	}
	if !pack.UsesTemplate(dst[at:]) {
		t = nil
	}
	if t != nil {
		p.addUser(w, t)
		if t.shared.labels.Load() == nil {
			t.shared.cache(&m.digest, &h)
		}
	}
	p.groups[shape], p.groups[key] = common, of
	if len(p.groups) > p.sweep {
		p.dropUnshared(w)
	}
	return dst, t
}

// packUnstored packs an entry that is not stored, against t. t may be nil.
func (p *packing) packUnstored(e *Entry, t *template) *Entry {
	if e.rejected != nil || e.raw == nil {
		return e
	}
	var with *pack.Template
	if t != nil {
		with = p.cache.get(t)
	}
	m := e.meta()
	p.known = m.appendIdentity(p.known[:0])
	r := m.append(make(record, 0, len(e.record)+len(e.raw)/8), t)
	r = p.packer.Append(r, with, p.known, e.raw)
	return e.packed(r, t)
}

// derive returns a template of b. It is kept as a difference from parent if that is small.
func (p *packing) derive(b []byte, group uint64, parent *template, d *digest) *template {
	if parent != nil {
		if r := p.packer.Append(nil, p.cache.get(parent), nil, b); len(r) < len(b)/2 && pack.UsesTemplate(r) {
			return newTemplate(body{bytes: slices.Clone(r), size: len(b), parent: parent}, group, d)
		}
	}
	return newTemplate(body{bytes: slices.Clone(b), size: len(b)}, group, d)
}

// packAgainst packs b against the template of a group, and updates the group's figures.
func (p *packing) packAgainst(g *group, dst, b []byte) []byte {
	if g.template == nil {
		return p.packer.Append(dst, nil, p.known, b)
	}
	if g.useless >= maxUseless {
		if g.useless++; g.useless == retryAfter {
			g.useless = maxUseless - 1
		}
		return p.packer.Append(dst, nil, p.known, b)
	}
	at := len(dst)
	dst = p.packer.Append(dst, p.cache.get(g.template), p.known, b)
	n := len(dst) - at
	if n > len(b)/2 {
		end := len(dst)
		dst = p.packer.Append(dst, nil, p.known, b)
		if alone := len(dst) - end; alone <= n {
			copy(dst[at:], dst[end:])
			dst = dst[:at+alone]
			if g.useless++; g.useless == maxUseless {
				p.cache.drop(g.template)
			}
		} else {
			dst = dst[:end]
		}
	} else {
		g.useless = 0
	}
	switch {
	case g.usual == 0:
		g.usual = uint32(n)
	case n > 2*int(g.usual)+64:
		if g.worse++; g.worse >= maxWorse {
			*g = group{} // the objects have changed: start over
		}
	default:
		g.worse = 0
		g.usual = uint32((7*int(g.usual) + n) / 8)
	}
	return dst
}

// addUser adds the template to the table of the state if need be, and counts a record.
func (p *packing) addUser(w *transaction, t *template) {
	if t.id == 0 || w.templates.Get(t.id) != t {
		t.id = p.newID()
		w.templates.Set(w.owner, t.id, t)
		w.newTemplates = append(w.newTemplates, t.id)
		p.held += t.held()
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
		t := w.templates.Get(id)
		switch {
		case p.users[id] == 0:
			w.templates.Set(w.owner, id, nil)
			p.drop(t)
			p.freed = append(p.freed, id)
		case p.users[id] >= plainUsers:
			p.unpackTemplate(t)
		}
	}
}

func (p *packing) unpackTemplate(t *template) {
	b := t.body.Load()
	if b.parent == nil {
		return
	}
	plain, err := t.unpacked()
	if err != nil {
		panic(err)
	}
	p.held -= t.held()
	t.body.Store(&body{bytes: plain, size: b.size})
	p.held += t.held()
}

// drop removes a template that no later state uses.
func (p *packing) drop(t *template) {
	p.held -= t.held()
	if g, ok := p.groups[t.group]; ok && g.template == t {
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

// dropUnshared deletes the groups without a template.
func (p *packing) dropUnshared(w *transaction) {
	for key, g := range p.groups {
		if g.template == nil || w.templates.Get(g.template.id) != g.template {
			delete(p.groups, key)
		}
	}
	p.sweep = 2*len(p.groups) + 32<<10
}

// templates counts the templates in use.
func (p *packing) templates() int { return max(len(p.users)-1-len(p.freed), 0) }
