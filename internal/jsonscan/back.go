package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// Back finds the last member of an object before end, which is the offset of a comma or of the brace
// that shuts the object. It returns where the name and the value begin, and the offset before the
// member, which is the end for the next call. There is none if name is not above stop, which lies
// within the object. The document must be valid.
func Back(b []byte, end, stop int) (name, value, before int) {
	value = valueStart(b, spaceBack(b, end), stop)
	colon := spaceBack(b, value) - 1
	name = textStart(b, spaceBack(b, colon))
	return name, value, spaceBack(b, name) - 1
}

// End returns the offset of the last byte of a document that is no space.
func End(b []byte) int { return spaceBack(b, len(b)) - 1 }

// spaceBack returns the offset behind the last byte before i that is no space.
func spaceBack(b []byte, i int) int {
	for i > 0 && b[i-1] <= ' ' {
		i--
	}
	return i
}

// valueStart returns where the value begins that ends before end. If that is not behind stop, it
// returns something up to stop.
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

// textStart returns where the string begins that ends before end; negative if there is none.
func textStart(b []byte, end int) int {
	i := end - 1 // of the quote that ends it
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
