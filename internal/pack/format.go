package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// MaxSize is the size in bytes of the largest object that is packed. Larger ones are stored as they
// are.
const MaxSize = 64 << 20

// ErrCorrupt says that a record was not made by a [Packer], or not with this template. Not every
// such record is detected: a record carries no checksum.
var ErrCorrupt = errors.New("pack: corrupt record")

func corrupt(what string) error { return fmt.Errorf("%w: %s", ErrCorrupt, what) }

// The operations, by their highest bits.
const (
	opCopy   = 0x00
	opLit    = 0x40
	opMoved  = 0x80
	opSelf   = 0xc0
	opHex    = 0xe0
	opDigits = 0xf0
	opUUID   = 0xff

	bitsCopy = 6
	bitsSelf = 5
	bitsHex  = 4
)

const (
	minDigits = 2
	maxDigits = 16 // 2 … 16 are codes 0 … 14; code 15 is the UUID
	uuidLen   = 36
)

// digitBytes is the number of bytes for a number of decimal digits.
var digitBytes = [maxDigits + 1]int{0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 7}

// appendOp appends an operation with the length n ≥ 1 in its lowest bits. The highest code
// announces a varint, the one below it a byte.
func appendOp(dst []byte, op byte, bits uint, n int) []byte {
	top := 1<<bits - 1
	switch {
	case n < top:
		return append(dst, op|byte(n-1))
	case n < top+256:
		return append(dst, op|byte(top-1), byte(n-top))
	}
	return binary.AppendUvarint(append(dst, op|byte(top)), uint64(n-top-256))
}

// The flags of a header; the size comes above them.
const (
	usesTemplate = 1 << iota
	codedLiterals
	sizeShift = iota
)

// head is the header of a record.
type head struct {
	size  int
	flags uint64
	raw   bool // the body is the object
}

// header parses the header of a record.
func header(record []byte) (h head, body []byte, err error) {
	if len(record) == 0 {
		return head{}, nil, corrupt("the record is empty")
	}
	if record[0] == 0 {
		return head{size: len(record) - 1, raw: true}, record[1:], nil
	}
	v, n := binary.Uvarint(record)
	if n <= 0 || v>>sizeShift == 0 || v>>sizeShift > MaxSize {
		return head{}, nil, corrupt("the size is invalid")
	}
	return head{size: int(v >> sizeShift), flags: v}, record[n:], nil
}

// Size returns the size of the object in a record. It reads the header only.
func Size(record []byte) (int, error) {
	h, _, err := header(record)
	return h.size, err
}

// UsesTemplate reports whether a record needs the template that it was packed against. If not, it
// may be unpacked with a nil template.
func UsesTemplate(record []byte) bool {
	h, _, err := header(record)
	return err == nil && h.flags&usesTemplate != 0
}

// class maps a byte to its value as a lower-case hex digit, or to notHex.
var class = func() (t [256]byte) {
	for i := range t {
		t[i] = notHex
	}
	for i := range byte(10) {
		t['0'+i] = i
	}
	for i := range byte(6) {
		t['a'+i] = 10 + i
	}
	return t
}()

const notHex = 0xff

// pairs holds the two hex characters of each byte, in memory order.
var pairs = func() (t [256]uint16) {
	const digits = "0123456789abcdef"
	for i := range t {
		t[i] = uint16(digits[i>>4]) | uint16(digits[i&15])<<8
	}
	return t
}()

// isUUID reports whether b begins with a UUID in lower case.
func isUUID(b []byte) bool {
	if len(b) < uuidLen || b[8] != '-' || b[13] != '-' || b[18] != '-' || b[23] != '-' {
		return false
	}
	for i, c := range b[:uuidLen] {
		if class[c] == notHex && i != 8 && i != 13 && i != 18 && i != 23 {
			return false
		}
	}
	return true
}

// appendHex appends the hex digits of s, two in a byte.
func appendHex(dst, s []byte) []byte {
	for len(s) >= 2 {
		dst = append(dst, class[s[0]]<<4|class[s[1]])
		s = s[2:]
	}
	if len(s) == 1 {
		dst = append(dst, class[s[0]]<<4)
	}
	return dst
}

func appendUUID(dst, s []byte) []byte {
	dst = append(dst, opUUID)
	for _, part := range [...][]byte{s[:8], s[9:13], s[14:18], s[19:23], s[24:36]} {
		dst = appendHex(dst, part)
	}
	return dst
}

// appendDigits appends the operation for the decimal digits of s.
func appendDigits(dst, s []byte) []byte {
	v := uint64(0)
	for _, c := range s {
		v = v*10 + uint64(c-'0')
	}
	dst = append(dst, opDigits|byte(len(s)-minDigits))
	for range digitBytes[len(s)] {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}
