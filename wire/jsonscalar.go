package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// textState is what is known of a text or another scalar.
type textState uint8

const (
	textWhole textState = iota
	textOpen            // it may go on behind what there is
	textBad
)

// textEnd reads a text whose quote is before i, and returns the offset behind the one that ends it;
// if the text is open, where to go on; if it is bad, where.
func textEnd(b []byte, i int) (int, textState) {
	for {
		for len(b)-i >= 8 {
			if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return i, textOpen
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, textWhole
		case c < ' ':
			return i, textBad
		case c == '\\':
			var st textState
			if i, st = escapeEnd(b, i); st != textWhole {
				return i, st
			}
		default: // one of the last bytes
			i++
		}
	}
}

// escapeEnd reads the escape sequence at i.
func escapeEnd(b []byte, i int) (int, textState) {
	if i+1 >= len(b) {
		return i, textOpen
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, textWhole
	case 'u':
		for k := i + 2; k < i+6; k++ {
			if k >= len(b) {
				return i, textOpen
			}
			if !isHex(b[k]) {
				return i, textBad
			}
		}
		return i + 6, textWhole
	}
	return i, textBad
}

// special has a bit in the bytes of w that are quotes, backslashes or control characters. Only the
// lowest is sure.
func special(w uint64) uint64 {
	const ones = 0x0101010101010101
	quote, slash := w^'"'*ones, w^'\\'*ones
	return ((w-' '*ones)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & (0x80 * ones)
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// scalarEnd reads a number, true, false or null at i, and returns the offset behind it; if it is
// bad, where. last says that nothing comes behind b.
func scalarEnd(b []byte, i int, last bool) (int, textState) {
	switch b[i] {
	case 't':
		return wordEnd(b, i, "true")
	case 'f':
		return wordEnd(b, i, "false")
	case 'n':
		return wordEnd(b, i, "null")
	}
	return numberEnd(b, i, last)
}

func numberEnd(b []byte, i int, last bool) (int, textState) {
	if b[i] == '-' {
		i++
	}
	from := i
	if i = digits(b, i); i > from && b[from] == '0' {
		i = from + 1
	}
	if i > from && i < len(b) && b[i] == '.' {
		from = i + 1
		i = digits(b, from)
	}
	if i > from && i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from = i
		i = digits(b, from)
	}
	switch {
	case i >= len(b) && (i == from || !last):
		return i, textOpen
	case i == from: // a digit is missing
		return i, textBad
	}
	return i, textWhole
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

func wordEnd(b []byte, i int, word string) (int, textState) {
	for k := range len(word) {
		if i+k >= len(b) {
			return i, textOpen
		}
		if b[i+k] != word[k] {
			return i + k, textBad
		}
	}
	return i + len(word), textWhole
}

// textError says why a text that is open or bad cannot be gone on with: nil if it can.
func textError(b []byte, i int, st textState) error {
	switch {
	case st == textOpen:
		return nil
	case b[i] == '\\':
		return fmt.Errorf("invalid escape sequence %q in a string", b[i:min(i+6, len(b))])
	}
	return unexpected(b[i], "in a string")
}
