package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// Back finds the last member of an object before end, the offset of a comma or of the closing brace. It returns the
// offsets of the name and of the value, and the end for the next call. There is no further member if name is not
// above stop, an offset within the object. The document must be valid.
func Back(b []byte, end, stop int) (name, value, before int) {
	value = valueStart(b, spaceBack(b, end), stop)
	colon := spaceBack(b, value) - 1
	name = textStart(b, spaceBack(b, colon))
	return name, value, spaceBack(b, name) - 1
}

// End returns the offset of the last byte of a document that is not a space.
func End(b []byte) int { return spaceBack(b, len(b)) - 1 }

// spaceBack returns the offset after the last byte before i that is not a space.
func spaceBack(b []byte, i int) int {
	for i > 0 && b[i-1] <= ' ' {
		i--
	}
	return i
}

// valueStart returns the start of the value that ends before end. If the start is not after stop, the result is at
// most stop.
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
		switch b[i] | 0x20 { // it maps [ to {, and ] to }
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

// textStart returns the start of the string that ends before end; negative if there is none.
func textStart(b []byte, end int) int {
	i := end - 1 // the closing quote
	if i < 0 || b[i] != '"' {
		return -1
	}
	for {
		for i >= 8 {
			m := quotesIn(binary.BigEndian.Uint64(b[i-8:]))
			if m != 0 {
				i -= bits.TrailingZeros64(m) / 8
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
