package wire

import (
	"reflect"
	"unicode/utf8"
	"unsafe"

	"github.com/flyball-io/flyball/internal/decode"
	"github.com/flyball-io/flyball/internal/jsonscan"
)

// viewNode is an object on the wire with members that a view has.
type viewNode struct {
	level   int           // 1 is the object that is read, 2 a member of it; 0 any below
	members []*viewMember // by name; of a map by key
	fields  []*viewMember // protobuf: the members by number; nil: skipped
	isMap   bool          // protobuf: each entry is a message
}

// viewMember is a member of an object, or an entry of a map.
type viewMember struct {
	level   int // that of the object
	name    string
	path    string
	node    *viewNode // members of it are read, into the same memory
	targets []viewTarget
}

// viewTarget is where a view has what a member holds.
type viewTarget struct {
	offset uintptr
	typ    reflect.Type
	viewValue
}

func (n *viewNode) find(name []byte) int {
	for i, m := range n.members {
		if len(m.name) == len(name) && m.name == string(name) {
			return i
		}
	}
	return -1
}

func (n *viewNode) member(name, path string) *viewMember {
	if i := n.find([]byte(name)); i >= 0 {
		return n.members[i]
	}
	m := &viewMember{level: n.level, name: name, path: path}
	n.members = append(n.members, m)
	return m
}

// field gives a member its protobuf number. It returns the member that has the number.
func (n *viewNode) field(num int, m *viewMember) *viewMember {
	for len(n.fields) <= num {
		n.fields = append(n.fields, nil)
	}
	if n.fields[num] == nil {
		n.fields[num] = m
	}
	return n.fields[num]
}

func (m *viewMember) object() *viewNode {
	if m.node == nil {
		m.node = &viewNode{}
		if m.level == 1 {
			m.node.level = 2
		}
	}
	return m.node
}

// reset zeroes the values that are read from a member.
func (m *viewMember) reset(p unsafe.Pointer) {
	for _, t := range m.targets {
		reflect.NewAt(t.typ, unsafe.Add(p, t.offset)).Elem().SetZero()
	}
	if m.node != nil {
		for _, sub := range m.node.members {
			sub.reset(p)
		}
	}
}

// document reads a whole object.
func (d *viewReader) document(n *viewNode, p unsafe.Pointer) error {
	d.Space()
	if d.Peek() != '{' {
		return errNotObject
	}
	if err := n.read(d, p); err != nil {
		return err
	}
	d.Space()
	if d.I < len(d.B) {
		return jsonscan.ErrMore
	}
	return nil
}

// read reads the members of an object into memory. If the names are distinct, it stops at the last member that
// the view has. It skips a large member by reading the rest from the end of the document. Metadata does not count
// as large.
func (n *viewNode) read(d *viewReader, p unsafe.Pointer) error {
	left, distinct := len(n.members), d.distinct && n.level > 0
	more, err := d.Begin('{')
	for seen := uint64(0); more && err == nil; more, err = d.Next('}') {
		var name []byte
		if name, err = d.Name(); err != nil {
			return err
		}
		i := n.find(name)
		if i < 0 {
			if distinct && n.level == 1 && d.Nested() && string(name) != "metadata" {
				return n.readBack(d, p, left)
			}
			if err = d.Skip(); err != nil {
				return err
			}
			continue
		}
		m := n.members[i]
		if bit := uint64(1) << min(i, 63); seen&bit == 0 && i < 63 {
			seen |= bit
		} else {
			m.reset(p) // the last of equal names wins
		}
		if left--; n.level == 1 {
			d.mayLeave = distinct && (left == 0 || m.name != "metadata")
		}
		if d.Null() {
			m.null(p)
		} else if err = m.read(d, p); err != nil {
			return inField(m.path, err)
		}
		switch {
		case n.level == 1 && (distinct && left == 0 || d.hasLeft):
			return n.readBack(d, p, left)
		case n.level == 2 && left == 0 && d.mayLeave:
			d.hasLeft = true
			return nil
		}
	}
	return err
}

// readBack reads the last left members of a view, from the end of the document back to d.I, which is within a
// value. Most objects have little after a large member, such as the status after the spec. The document is valid
// JSON with distinct names.
func (n *viewNode) readBack(d *viewReader, p unsafe.Pointer, left int) error {
	stop := d.I
	d.mayLeave = true
	for end := jsonscan.End(d.B); left > 0; {
		var value int
		if d.I, value, end = jsonscan.Back(d.B, end, stop); d.I <= stop {
			break
		}
		name, err := d.Text()
		if err != nil {
			return err
		}
		i := n.find(name)
		if i < 0 {
			continue
		}
		left--
		m := n.members[i]
		if d.I = value; d.Null() {
			continue
		}
		if err = m.read(d, p); err != nil {
			return inField(m.path, err)
		}
	}
	d.I = len(d.B)
	return nil
}

func (m *viewMember) read(d *viewReader, p unsafe.Pointer) error {
	start := d.I
	if m.node != nil {
		if err := m.node.read(d, p); err != nil {
			return err
		}
	}
	for i := range m.targets {
		t := &m.targets[i]
		d.I, d.hasLeft = start, false
		if err := t.json(d, unsafe.Add(p, t.offset)); err != nil {
			return err
		}
	}
	return nil
}

// null reads a null.
func (m *viewMember) null(p unsafe.Pointer) {
	for _, t := range m.targets {
		if t.null != nil {
			t.null(unsafe.Add(p, t.offset))
		}
	}
}

func jsonString(d *viewReader, p unsafe.Pointer) error {
	b, err := d.Text()
	if err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return errUTF8
	}
	*(*string)(p) = d.keep(b)
	return nil
}

func jsonBool(d *viewReader, p unsafe.Pointer) (err error) {
	*(*bool)(p), err = d.Bool()
	return err
}

// jsonWhole reads a value of a type that is decoded as it is.
func jsonWhole(t reflect.Type) jsonRead {
	return func(d *viewReader, p unsafe.Pointer) error {
		v, err := d.Value()
		if err != nil {
			return err
		}
		if !utf8.Valid(v) {
			return errUTF8
		}
		return decode.JSON(v, reflect.NewAt(t, p).Interface())
	}
}
