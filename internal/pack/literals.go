package pack

import (
	"encoding/binary"
	"slices"
)

// Literal bytes lie at the end of a record, the first run last, so that no length is stored. Where it
// is shorter they are in a prefix code of one to two thirds of their size. The code is fixed: letters
// and digits of names take five to seven bits, other bytes up to twelve.

const (
	codeBits = 12      // length of the longest code
	maxCoded = 4 << 10 // bytes from which literals are not coded: reading one takes two nanoseconds
)

// codeLengths are the lengths of the codes by byte.
var codeLengths = func() (t [256]uint8) {
	for i := range t {
		t[i] = codeBits
	}
	for bits, s := range map[uint8]string{
		5: "aeiorstnlcdp", 6: "bfghmu0123456789-", 7: "jkqvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 8: "./:_\"",
		10: "\x00\x01\x02\x08\n\x10\x12\x18\x1a =,{}",
	} {
		for _, c := range []byte(s) {
			t[c] = bits
		}
	}
	return t
}()

// code is a canonical prefix code: shorter codes come first, and those of one length in the order of
// bytes.
var code, decoding = func() (codes [256]uint16, d [1 << codeBits]symbols) {
	for i := range d {
		d[i] = symbols{n: 1, bits: codeBits, all: codeBits} // no byte has this code
	}
	next := 0
	for bits := uint8(1); bits <= codeBits; bits++ {
		for c := range codes {
			if codeLengths[c] == bits {
				codes[c] = uint16(next)
				n := 1 << (codeBits - bits)
				for i := range n {
					d[next<<(codeBits-bits)+i] = symbols{first: byte(c), bits: bits, n: 1, all: bits}
				}
				next++
			}
		}
		next <<= 1
	}
	for i := range d { // a second symbol, where all of its bits are there
		s := &d[i]
		if second := d[i<<s.bits&(1<<codeBits-1)]; s.bits+second.bits <= codeBits {
			s.second, s.n, s.all = second.first, 2, s.bits+second.bits
		}
	}
	return codes, d
}()

// symbols are the n bytes, one or two, that some bits begin with.
type symbols struct {
	first, second byte
	n             uint8
	bits, all     uint8 // the bits of the first one, and of all
}

// codedSize is the size of s in the prefix code.
func codedSize(s []byte) int {
	n := 0
	for _, c := range s {
		n += int(codeLengths[c])
	}
	return (n + 7) / 8
}

// appendCoded appends s in the prefix code, in size bytes, the last one first.
func appendCoded(dst, s []byte, size int) []byte {
	start := len(dst)
	dst = slices.Grow(dst, size+4)[:start+size]
	at := len(dst)
	var bits uint64
	n := 0
	for _, c := range s {
		bits = bits<<codeLengths[c] | uint64(code[c])
		if n += int(codeLengths[c]); n >= 32 {
			n -= 32
			at -= 4
			binary.LittleEndian.PutUint32(dst[at:], uint32(bits>>n))
		}
	}
	for ; n > 0; n -= 8 {
		at--
		dst[at] = byte(bits << 8 >> n)
	}
	return dst
}

// literals reads literal bytes from the end of a record.
type literals struct {
	b    []byte // what is not read yet, with operations before it
	bits uint64 // the next bits, from the highest one on
	n    int    // the number of them
}

// take fills out with the next literal bytes, and reports whether there are as many.
func (l *literals) take(out []byte) bool {
	for len(out) >= 8 && len(l.b) >= 8 {
		l.refill() // 56 bits or more are at least four codes
		bits, n, i := l.bits, l.n, 0
		for range 4 {
			s := &decoding[bits>>(64-codeBits)]
			out[i&7], out[(i+1)&7] = s.first, s.second
			i += int(s.n)
			bits <<= s.all & 63
			n -= int(s.all)
		}
		l.bits, l.n = bits, n
		out = out[i:]
	}
	for i := range out {
		if l.n < codeBits {
			l.refill()
		}
		s := &decoding[l.bits>>(64-codeBits)]
		out[i] = s.first
		l.bits <<= s.bits
		if l.n -= int(s.bits); l.n < 0 {
			return false
		}
	}
	return true
}

// refill reads bits while there is room for a byte.
func (l *literals) refill() {
	if k := len(l.b); k >= 8 {
		l.bits |= binary.LittleEndian.Uint64(l.b[k-8:]) >> l.n
		more := (63 - l.n) / 8
		l.b, l.n = l.b[:k-more], l.n+8*more
		l.bits &= ^uint64(0) << (64 - l.n)
		return
	}
	for ; l.n <= 56 && len(l.b) > 0; l.n += 8 {
		k := len(l.b) - 1
		l.bits |= uint64(l.b[k]) << (56 - l.n)
		l.b = l.b[:k]
	}
}

// begin is where the literal bytes begin that were read.
func (l *literals) begin() int { return len(l.b) + l.n/8 }
