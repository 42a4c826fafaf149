package wire

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// readBack reads those members that a view still wants, so many, from the end of the document on, as
// far as to d.i, which is within a value. Most objects have little behind what is large, such as the
// status behind the spec. The document is known to be JSON, with distinct names.
func (n *jsonNode) readBack(d *viewReader, p unsafe.Pointer, left int) error {
	stop := d.i
	d.mayLeave = true
	end := spaceBack(d.b, len(d.b)) - 1 // of the members
	for left > 0 {
		from := valueStart(d.b, spaceBack(d.b, end), stop)
		colon := spaceBack(d.b, from) - 1
		if d.i = textStart(d.b, spaceBack(d.b, colon)); d.i <= stop {
			break
		}
		end = spaceBack(d.b, d.i) - 1 // at the comma
		name, err := d.str()
		if err != nil {
			return err
		}
		i := n.find(name)
		if i < 0 {
			continue
		}
		left--
		m := n.members[i]
		if d.i = from; d.null() {
			continue
		}
		if err = m.read(d, p); err != nil {
			return inField(m.path, err)
		}
	}
	d.i = len(d.b)
	return nil
}

// spaceBack is the offset behind the last byte before i that is no space.
func spaceBack(b []byte, i int) int {
	for i > 0 && b[i-1] <= ' ' {
		i--
	}
	return i
}

// valueStart is where the value begins that ends before end, or something up to stop if that is not
// behind stop.
func valueStart(b []byte, end, stop int) int {
	if end <= stop {
		return stop
	}
	switch b[end-1] {
	case '"':
		return textStart(b, end)
	case '}', ']':
		return nestedStart(b, end, stop)
	}
	i := end
	for i > stop && b[i-1] > ' ' && b[i-1] != ':' && b[i-1] != ',' && b[i-1] != '[' {
		i--
	}
	return i
}

// nestedStart is valueStart of an object or array.
func nestedStart(b []byte, i, stop int) int {
	for depth := 0; i > stop; {
		if b[i-1] == '"' {
			i = textStart(b, i)
			continue
		}
		i--
		switch b[i] | 0x20 { // which makes one of { and [, and of } and ]
		case '}':
			depth++
		case '{':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return stop
}

// textStart is where the string begins that ends before end; negative if there is none.
func textStart(b []byte, end int) int {
	i := end - 1 // of the quote that ends it
	if i < 0 || b[i] != '"' {
		return -1
	}
	for {
		for i >= 8 {
			quotes := quotesIn(binary.BigEndian.Uint64(b[i-8:]))
			if quotes != 0 {
				i -= bits.TrailingZeros64(quotes) / 8
				break
			}
			i -= 8
		}
		for i > 0 && b[i-1] != '"' {
			i--
		}
		if i--; i < 1 {
			return i
		}
		slashes := i
		for slashes > 0 && b[slashes-1] == '\\' {
			slashes--
		}
		if (i-slashes)%2 == 0 {
			return i
		}
	}
}
