package pack

import (
	"encoding/binary"
	"slices"
)

// Unpack appends the object of a record to dst. template must hold the bytes of the template that
// the record was packed against. They are not read when [UsesTemplate] is false. known must be what
// it was when the record was made.
//
// The inputs are only read, and not kept. They must not overlap dst. The caller owns dst; Unpack
// allocates nothing if its capacity suffices.
//
// The error is [ErrCorrupt]; dst is then returned with its former length. No record causes a panic.
// At most [MaxSize] bytes are allocated.
func Unpack(dst, template, known, record []byte) ([]byte, error) {
	h, body, err := header(record)
	if err != nil {
		return dst, err
	}
	if h.raw {
		return append(dst, body...), nil
	}
	grown := slices.Grow(dst, h.size)
	if !unpack(grown[len(dst):len(dst)+h.size], template, known, body, h.flags&codedLiterals != 0) {
		return dst, corrupt("an operation exceeds the object or the template")
	}
	return grown[:len(dst)+h.size], nil
}

// length returns the length of the operation that begins with b. top is its mask.
func length(b byte, top int, body []byte) (n int, rest []byte, ok bool) {
	if n = int(b)&top + 1; n < top {
		return n, body, true
	}
	return readCount(body, n-1, top)
}

// readCount reads the rest of a length with a code of top-1 or top, which announce more bytes.
func readCount(body []byte, code, top int) (n int, rest []byte, ok bool) {
	if code == top-1 {
		if len(body) == 0 {
			return 0, nil, false
		}
		return top + int(body[0]), body[1:], true
	}
	v, k := binary.Uvarint(body)
	if k <= 0 || v > MaxSize {
		return 0, nil, false
	}
	return top + 256 + int(v), body[k:], true
}

// unpack fills out exactly; false if the operations do not.
func unpack(out, t, known, body []byte, coded bool) bool {
	lits, all := literals{b: body}, len(body)
	o, cursor := 0, 0 // the next position in out, and the aligned one in the template
	for o < len(out) && len(body) > 0 {
		b := body[0]
		body = body[1:]
		var n int
		ok := true
		if b < opSelf {
			const top = 1<<bitsCopy - 1
			if n = int(b)&top + 1; n >= top {
				if n, body, ok = readCount(body, n-1, top); !ok {
					return false
				}
			}
		}
		switch b >> 6 {
		case opCopy >> 6:
			if cursor > len(t) || n > len(t)-cursor || n > len(out)-o {
				return false
			}
			copyShort(out[o:], t[cursor:], n)
		case opLit >> 6:
			switch k := len(lits.b) - n; {
			case n > len(out)-o:
				return false
			case coded:
				if !lits.take(out[o : o+n]) {
					return false
				}
			case k < 0:
				return false
			default:
				copyShort(out[o:], lits.b[k:], n)
				lits.b = lits.b[:k]
			}
		case opMoved >> 6:
			delta, k := binary.Varint(body)
			if k <= 0 || delta > MaxSize || delta < -MaxSize {
				return false
			}
			body = body[k:]
			cursor += int(delta)
			if cursor < 0 || cursor > len(t) || n > len(t)-cursor || n > len(out)-o {
				return false
			}
			copyShort(out[o:], t[cursor:], n)
		default:
			if n, body, ok = unpackRare(out, known, body, o, b); !ok {
				return false
			}
		}
		o += n
		cursor += n
	}
	return o == len(out) && lits.begin() == all-len(body)
}

// copyShort copies n bytes; both slices have as many. Small copies move sixteen bytes, or twice
// sixteen, where there is room: later operations overwrite the excess.
func copyShort(out, from []byte, n int) {
	switch {
	case n <= 16 && len(out) >= 16 && len(from) >= 16:
		*(*[16]byte)(out) = *(*[16]byte)(from)
	case n <= 32 && len(out) >= 32 && len(from) >= 32:
		*(*[32]byte)(out) = *(*[32]byte)(from)
	default:
		copy(out, from[:n])
	}
}

// unpackRare executes the less frequent operations.
func unpackRare(out, known, body []byte, o int, b byte) (n int, rest []byte, ok bool) {
	switch {
	case b < opHex:
		if n, body, ok = length(b, 1<<bitsSelf-1, body); !ok {
			return 0, nil, false
		}
		d, k := binary.Uvarint(body)
		if k <= 0 || d == 0 || d > uint64(o+len(known)) || n > len(out)-o {
			return 0, nil, false
		}
		done := 0
		if before := int(d) - o; before > 0 {
			done = copy(out[o:o+n], known[len(known)-before:])
		}
		for from := o + done - int(d); done < n; { // at once, or as an overlapping run
			done += copy(out[o+done:o+n], out[from:o+done])
		}
		return n, body[k:], true
	case b < opDigits:
		if n, body, ok = length(b, 1<<bitsHex-1, body); !ok {
			return 0, nil, false
		}
		if n > len(out)-o || (n+1)/2 > len(body) {
			return 0, nil, false
		}
		hexInto(out[o:o+n], body)
		return n, body[(n+1)/2:], true
	case b == opUUID:
		if uuidLen > len(out)-o || len(body) < 16 {
			return 0, nil, false
		}
		u, from := out[o:o+uuidLen], body[:16]
		hexInto(u[:8], from)
		hexInto(u[9:13], from[4:])
		hexInto(u[14:18], from[6:])
		hexInto(u[19:23], from[8:])
		hexInto(u[24:36], from[10:])
		u[8], u[13], u[18], u[23] = '-', '-', '-', '-'
		return uuidLen, body[16:], true
	}
	n = int(b&15) + minDigits
	k := digitBytes[n]
	if n > len(out)-o || k > len(body) {
		return 0, nil, false
	}
	v := uint64(0)
	for i := k - 1; i >= 0; i-- {
		v = v<<8 | uint64(body[i])
	}
	for i := o + n - 1; i >= o; i-- {
		q := v / 10
		out[i] = byte('0' + v - q*10)
		v = q
	}
	return n, body[k:], true
}

// hexInto fills out with the hex digits of from.
func hexInto(out, from []byte) {
	k := len(out) / 2
	for i, c := range from[:k] {
		binary.LittleEndian.PutUint16(out[2*i:], pairs[c])
	}
	if len(out)&1 == 1 {
		out[len(out)-1] = byte(pairs[from[k]])
	}
}
