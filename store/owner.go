package store

import (
	"bytes"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// The owner of an object lies in front of it where the template has another one: then there are many owners, and few
// objects of each. An object with several owners has none there.
//
//	kind     a value, as of a label: apiVersion, 0, kind
//	name     a value
//	uid      a byte of flags, then 16 bytes of a UUID, or a length and text; nothing if it is that of the object
const (
	ownerControls = 1 << iota
	ownerUUID
	ownerSelf // the owner has the uid of the object
)

// putOwner puts the owner of an object in front of it.
func (p *packing) putOwner(m *meta, t *template, h *object.Header) {
	if len(h.Owners) != 1 || m.digest.Owners == t.common[2] {
		return
	}
	o, l := &h.Owners[0], p.labelingOf(t, h.Labels)
	b := p.appendValue(p.owner[:0], l, o.APIVersion+"\x00"+o.Kind, noName)
	if b != nil {
		b = p.appendValue(b, l, o.Name, h.Name)
	}
	if b == nil || len(b)+2+len(o.UID) > maxFront {
		return
	}
	var flags byte
	if o.Controller {
		flags |= ownerControls
	}
	id, isUUID := parseUUID(string(o.UID))
	switch {
	case o.UID == h.UID:
		b = append(b, flags|ownerSelf)
	case isUUID:
		b = append(append(b, flags|ownerUUID), id[:]...)
	default:
		b = append(append(b, flags, byte(len(o.UID))), o.UID...)
	}
	p.owner, m.owner = b, b
}

// ownerSize returns how many bytes of b are an owner.
func ownerSize(b []byte) int {
	n := valueSize(b)
	n += valueSize(b[n:])
	switch flags := b[n]; {
	case flags&ownerSelf != 0:
		return n + 1
	case flags&ownerUUID != 0:
		return n + 1 + 16
	}
	return n + 2 + int(b[n+1])
}

// ownerUID returns the flags of the owner in front, and the bytes of its uid.
func (m *meta) ownerUID() (flags byte, uid []byte) {
	b := m.owner
	b = b[valueSize(b):]
	b = b[valueSize(b):]
	switch flags = b[0]; {
	case flags&ownerSelf != 0:
		return flags, nil
	case flags&ownerUUID != 0:
		return flags, b[1:]
	}
	return flags, b[2:]
}

// appendOwnerUID appends the uid of the owner in front, as text, unless it is that of the object.
func (m *meta) appendOwnerUID(b []byte) []byte {
	flags, uid := m.ownerUID()
	if flags&ownerUUID == 0 {
		return append(b, uid...)
	}
	return appendUUID(b, uid)
}

// appendUUID appends a UUID as text.
func appendUUID(b, uid []byte) []byte {
	for i, n := range [...]int{4, 2, 2, 2, 6} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, uid[:n])
		uid = uid[n:]
	}
	return b
}

// viewOwner returns the owner in front of a record. ok is false if there is none.
func (e *Entry) viewOwner(m *meta) (o object.Owner, ok bool) {
	if m.owner == nil || e.template == nil {
		return o, false
	}
	l := e.template.labels.Load()
	if l == nil {
		return o, false
	}
	name := m.key[bytes.IndexByte(m.key, 0)+1:]
	shape, b := l.shape.Load(), m.owner
	kind, lent := shape.value(b, nil)
	if lent {
		kind = strings.Clone(kind)
	}
	o.APIVersion, o.Kind, _ = strings.Cut(kind, "\x00")
	text, lent := shape.value(b[valueSize(b):], name)
	flags, _ := m.ownerUID()
	o.Controller = flags&ownerControls != 0
	var room [128]byte
	id := m.appendOwnerUID(room[:0])
	if flags&ownerSelf != 0 {
		id = m.appendUID(id)
	}
	if !lent {
		o.Name, o.UID = text, types.UID(id)
		return o, true
	}
	n := len(id)
	both := string(append(id, text...)) // one allocation
	o.UID, o.Name = types.UID(both[:n]), both[n:]
	return o, true
}

// ownersOf returns the owners of a record, if the object need not be read for them.
func (e *Entry) ownersOf(m *meta) ([]object.Owner, bool) {
	if o, ok := e.viewOwner(m); ok {
		return []object.Owner{o}, true
	}
	return e.template.parts().owners.get(m.digest.Owners)
}
