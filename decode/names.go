package decode

import "encoding/binary"

// names finds the index of a name in a struct. It hashes the length and the first and last eight
// bytes of a name, in a table without collisions. If no such table exists it uses a map.
type names struct {
	list  []string
	table []uint8 // index in list plus one, by hash
	seed  uint64
	shift uint8
	other map[string]int
}

func newNames(list []string) names {
	n := names{list: list}
	if len(list) < 255 {
		for bits := uint8(2); bits <= 12; bits++ {
			if 1<<bits < len(list)*3/2 {
				continue
			}
			for try := range uint64(64) {
				if n.seed, n.shift = (2*try+1)*0x9e3779b97f4a7c15, 64-bits; n.fill() {
					return n
				}
			}
		}
	}
	n.table, n.other = nil, make(map[string]int, len(list))
	for i, name := range list {
		n.other[name] = i
	}
	return n
}

// fill makes the table. False: two names meet.
func (n *names) fill() bool {
	n.table = make([]uint8, 1<<(64-n.shift))
	for i, name := range n.list {
		p := &n.table[n.hash([]byte(name))]
		if *p != 0 {
			return false
		}
		*p = uint8(i + 1)
	}
	return true
}

func (n *names) hash(name []byte) uint64 {
	h := uint64(len(name))
	if len(name) >= 8 {
		h += binary.LittleEndian.Uint64(name) ^ binary.LittleEndian.Uint64(name[len(name)-8:])*0xff51afd7ed558ccd
	} else {
		for _, c := range name {
			h = h<<8 | uint64(c)
		}
	}
	h ^= h >> 32
	return h * n.seed >> n.shift
}

// find returns the place of a name, or -1.
func (n *names) find(name []byte) int {
	if n.table == nil {
		if i, ok := n.other[string(name)]; ok {
			return i
		}
		return -1
	}
	if i := int(n.table[n.hash(name)]) - 1; i >= 0 && n.list[i] == string(name) {
		return i
	}
	return -1
}
