package wire

import (
	"unsafe"

	"github.com/flyball-io/flyball/internal/protoscan"
)

// protoRead reads the field under the cursor into memory of its type. The memory may have an earlier value of the same
// field. The field is absent if it is the value of an entry that has none.
type protoRead func(d *viewReader, c protoscan.Cursor, p unsafe.Pointer) error

// growFunc makes room for the field at the cursor and for those of the same number after it, if there is no room.
type growFunc func(p unsafe.Pointer, c protoscan.Cursor)

// readProto reads the fields of a message into memory, which may have earlier values: a message that occurs twice is
// merged.
func (n *viewNode) readProto(d *viewReader, msg []byte, p unsafe.Pointer) error {
	if n.isMap {
		return n.readEntry(d, msg, p)
	}
	c := protoscan.Cursor{B: msg}
	for {
		c.I = n.pass(msg, c.I)
		if !c.Next() {
			return c.Err
		}
		if c.Num >= len(n.fields) || n.fields[c.Num] == nil {
			continue
		}
		m := n.fields[c.Num]
		if m.node != nil && len(m.targets) == 0 && c.Type == protoscan.Bytes && m.node.isOther(c.B[c.From:c.To]) {
			continue
		}
		for i := range m.targets {
			if t := &m.targets[i]; t.grow != nil {
				t.grow(unsafe.Add(p, t.offset), c)
			}
		}
		if err := m.readProto(d, c, p); err != nil {
			return err
		}
	}
}

// pass is the fast path that skips fields without a target, from i on. It knows small numbers, and strings, bytes and
// messages with tags and lengths of up to two bytes: most fields are of these.
func (n *viewNode) pass(b []byte, i int) int {
	for i+4 <= len(b) {
		tag, at := uint(b[i]), i+1
		if tag >= 0x80 {
			tag, at = tag&0x7f|uint(b[i+1])<<7, i+2
		}
		if num := tag >> 3; num < uint(len(n.fields)) && n.fields[num] != nil || num == 0 || num >= 1<<11 {
			return i
		}
		size := int(b[at])
		switch at++; {
		case tag&7 == uint(protoscan.Number) && size < 0x80:
			size = 0
		case tag&7 != uint(protoscan.Bytes):
			return i
		case size >= 0x80:
			size, at = size&0x7f|int(b[at])<<7, at+1
			if size >= 1<<14 {
				return i
			}
		}
		if size > len(b)-at {
			return i
		}
		i = at + size
	}
	return i
}

// readEntry reads an entry of a map, key = 1 and value = 2, if the view has its key.
func (n *viewNode) readEntry(d *viewReader, msg []byte, p unsafe.Pointer) error {
	key, value, err := mapEntry(protoscan.Cursor{B: msg})
	if err != nil {
		return err
	}
	i := n.find(key)
	if i < 0 {
		return nil
	}
	n.members[i].reset(p)
	return n.members[i].readProto(d, value, p)
}

// isOther reports whether an entry has a key that the view does not have. It knows the usual entries: a key, then a
// value, both shorter than 128 bytes.
func (n *viewNode) isOther(msg []byte) bool {
	if !n.isMap || len(msg) < 4 || msg[0] != 1<<3|2 || int(msg[1]) > len(msg)-4 {
		return false
	}
	end := 2 + int(msg[1])
	if msg[1]|msg[end+1] >= 0x80 || msg[end] != 2<<3|2 || end+2+int(msg[end+1]) != len(msg) {
		return false
	}
	return n.find(msg[2:end]) < 0
}

func mapEntry(c protoscan.Cursor) (key []byte, value protoscan.Cursor, err error) {
	value.Type = protoscan.Absent
	for c.Next() {
		switch c.Num {
		case 1:
			key = c.Bytes()
		case 2:
			value = c
		}
	}
	return key, value, c.Err
}

func (m *viewMember) readProto(d *viewReader, c protoscan.Cursor, p unsafe.Pointer) error {
	if m.node != nil {
		b := c.Bytes()
		err := c.Err
		if err == nil {
			err = m.node.readProto(d, b, p)
		}
		if err != nil {
			return inField(m.path, err)
		}
	}
	for i := range m.targets {
		t := &m.targets[i]
		if err := t.proto(d, c, unsafe.Add(p, t.offset)); err != nil {
			return inField(m.path, err)
		}
	}
	return nil
}

// following counts the consecutive fields from the cursor on that have its number. Mostly these are all fields of
// the number.
func following(c protoscan.Cursor) int {
	n, num := 1, c.Num
	for c.Next() && c.Num == num {
		n++
	}
	return n
}
