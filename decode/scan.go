package decode

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions here read src from an offset on and return the offset after it. They return -1 for
// malformed input, and for input left to the stock decoder.

// at returns the byte at i, 0 past the end.
func at(src []byte, i int) byte {
	if uint(i) < uint(len(src)) {
		return src[i]
	}
	return 0
}

// skipSpace skips white space, which is rare.
func skipSpace(src []byte, i int) int {
	for uint(i) < uint(len(src)) && src[i] <= ' ' {
		if c := src[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			break
		}
		i++
	}
	return i
}

// literal reads a word such as null.
func literal(src []byte, i int, word string) int {
	if i+len(word) > len(src) || string(src[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

const (
	ones    = 0x0101010101010101
	highs   = 0x80 * ones
	quotes  = '"' * ones
	slashes = '\\' * ones
	blanks  = ' ' * ones
)

// stringEnd finds the end of a string that begins at i, after its quote. end is the offset of the
// closing quote. plain says that the string has no escapes and is valid UTF-8.
func stringEnd(src []byte, i int) (end int, plain bool) {
	for i+8 <= len(src) {
		x := binary.LittleEndian.Uint64(src[i:])
		// The lowest marked byte is a quote, a backslash, a control character or not ASCII.
		m := (((x ^ quotes) - ones) | ((x ^ slashes) - ones) | (x - blanks) | x) & highs
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) / 8
		if src[i] == '"' {
			return i, true
		}
		return stringEndSlow(src, i)
	}
	return stringEndSlow(src, i)
}

// stringEndSlow continues stringEnd at the first special character.
func stringEndSlow(src []byte, i int) (end int, plain bool) {
	start, ascii := i, true
	plain = true
	for {
		for i+8 <= len(src) {
			x := binary.LittleEndian.Uint64(src[i:])
			q, s := x^quotes, x^slashes
			m := ((q-ones)&^q | (s-ones)&^s | (x-blanks)&^x) & highs
			ascii = ascii && x&highs == 0
			if m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		switch c := at(src, i); {
		case c == '"':
			if !ascii && plain {
				plain = utf8.Valid(src[start:i])
			}
			return i, plain
		case c == '\\':
			plain = false
			i += 2
		case c < ' ': // or the end
			return -1, false
		default:
			ascii = ascii && c < utf8.RuneSelf
			i++
		}
	}
}

// unescape appends a string to b with its escapes replaced. ok says that it is valid.
func unescape(b, s []byte) (_ []byte, ok bool) {
	b = slices.Grow(b, len(s)) // the result is never longer
	to, n := b[len(b):len(b)+len(s)], 0
	for i := 0; i < len(s); {
		if i+8 <= len(s) { // n never exceeds i
			x := binary.LittleEndian.Uint64(s[i:])
			binary.LittleEndian.PutUint64(to[n:], x)
			v := x ^ slashes
			plain := bits.TrailingZeros64((v-ones)&^v&highs) / 8
			if i, n = i+plain, n+plain; plain == 8 {
				continue
			}
		} else if s[i] != '\\' {
			to[n] = s[i]
			i, n = i+1, n+1
			continue
		}
		switch c := s[i+1]; c {
		case '"', '\\', '/':
			to[n] = c
		case 'b':
			to[n] = '\b'
		case 'f':
			to[n] = '\f'
		case 'n':
			to[n] = '\n'
		case 'r':
			to[n] = '\r'
		case 't':
			to[n] = '\t'
		case 'u':
			c, ok := hex4(s[i+2:])
			if !ok {
				return nil, false
			}
			i += 6
			if utf16.IsSurrogate(c) {
				// Half a surrogate pair counts as U+FFFD, and the text after it stands for itself.
				pair := rune(utf8.RuneError)
				if len(s) > i+1 && s[i] == '\\' && s[i+1] == 'u' {
					if low, ok := hex4(s[i+2:]); ok {
						pair = utf16.DecodeRune(c, low)
					}
				}
				if c = pair; c != utf8.RuneError {
					i += 6
				}
			}
			n += utf8.EncodeRune(to[n:], c)
			continue
		default:
			return nil, false
		}
		i, n = i+2, n+1
	}
	return b[:len(b)+n], utf8.Valid(s)
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// number skips a number. whole says that it has no fraction and no exponent.
func number(src []byte, i int) (end int, whole bool) {
	if at(src, i) == '-' {
		i++
	}
	switch c := at(src, i); {
	case c == '0':
		i++
	case c >= '1' && c <= '9':
		i = digits(src, i)
	default:
		return -1, false
	}
	whole = true
	if at(src, i) == '.' {
		whole = false
		start := i + 1
		if i = digits(src, start); i == start {
			return -1, false
		}
	}
	if c := at(src, i); c == 'e' || c == 'E' {
		whole = false
		i++
		if c := at(src, i); c == '+' || c == '-' {
			i++
		}
		start := i
		if i = digits(src, start); i == start {
			return -1, false
		}
	}
	return i, whole
}

func digits(src []byte, i int) int {
	for uint(i) < uint(len(src)) && src[i]-'0' <= 9 {
		i++
	}
	return i
}
