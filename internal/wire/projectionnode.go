package wire

import (
	"reflect"
	"unsafe"
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
