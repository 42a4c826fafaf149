package pack

import "math/bits"

// Template is an object that others are packed against, and an index of its bytes once one is
// needed. A dictionary grows by what objects share. It belongs to the goroutine of the [Packer] that
// uses it.
type Template struct {
	b     []byte
	slots []uint16 // position/stride+1 of a window, by its hash; empty: no index
	shift uint8

	// Only dictionaries have these.
	base   int       // length before it learned
	max    int       // size in bytes up to which it grows
	recent *Template // what was not found in it lately
	budget int       // bytes that it may learn by now
}

// NewTemplate makes a template of b and keeps b, which must not change afterwards. A reader that
// only unpacks needs b, not a Template.
func NewTemplate(b []byte) *Template { return &Template{b: b} }

// Bytes returns the bytes for [Unpack]. They are read only.
func (t *Template) Bytes() []byte { return t.b }

// IndexSize is the size in bytes of the index of a template of n bytes.
func IndexSize(n int) int { return 2 * slotsOf(n) }

const (
	window = 6 // bytes that are hashed
	stride = 4 // distance of the indexed positions
	// indexed is how many bytes of a template the index covers. Later bytes are matched only where
	// they are expected.
	indexed = (1<<16 - 2) * stride
)

// slotsOf returns the number of slots in the index of n bytes.
func slotsOf(n int) int {
	return 1 << bits.Len(uint(max(min(n, indexed)/stride, 64)-1))
}

func shiftOf(slots int) uint8 { return uint8(64 - bits.Len(uint(slots-1))) }

// index makes the index, in about a microsecond for 4 kB of template.
func (t *Template) index() {
	slots := make([]uint16, slotsOf(len(t.b)))
	t.slots, t.shift = slots, shiftOf(len(slots))
	t.indexFrom(0)
}

// indexFrom adds the windows from a position on. The first of equal windows wins.
func (t *Template) indexFrom(at int) {
	at = (at + stride - 1) / stride * stride
	for i := min(len(t.b)-8, indexed-stride) / stride * stride; i >= at; i -= stride {
		t.slots[hash6(load64(t.b, i), t.shift)] = uint16(i/stride) + 1
	}
}

// append adds bytes to the end of the template. Its former bytes stay unchanged: readers may still hold
// them.
func (t *Template) append(b []byte) {
	was := len(t.b)
	if need := was + len(b); need > cap(t.b) {
		t.b = append(make([]byte, 0, need+need/8), t.b...)
	}
	t.b = append(t.b, b...)
	switch {
	case t.slots == nil:
	case slotsOf(len(t.b)) > len(t.slots):
		t.slots = nil
		t.index()
	default:
		t.indexFrom(max(was-7, 0))
	}
}

// find returns a possible position of the bytes of v; -1 for none. The caller compares.
func (t *Template) find(v uint64) int { return (int(t.slots[hash6(v, t.shift)]) - 1) * stride }

func hash6(v uint64, shift uint8) uint64 { return (v << 16) * 0x9e3779b185ebca87 >> (shift & 63) }
