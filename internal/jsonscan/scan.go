package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions here read b from an offset, and return the offset after the value. They return -1 for
// invalid and for incomplete text.

// At returns the byte at i, 0 past the end.
func At(b []byte, i int) byte {
	if uint(i) < uint(len(b)) {
		return b[i]
	}
	return 0
}

// Space skips white space, which is rare.
func Space(b []byte, i int) int {
	for uint(i) < uint(len(b)) && b[i] <= ' ' {
		if c := b[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			break
		}
		i++
	}
	return i
}

// Word reads a word such as null.
func Word(b []byte, i int, word string) int {
	if i+len(word) > len(b) || string(b[i:i+len(word)]) != word {
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

// String reads the text of a string, from after its opening quote. end is the offset of the closing
// quote. plain says that the text has no escapes and is valid UTF-8.
func String(b []byte, i int) (end int, plain bool) {
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		// The lowest marked byte is a quote, a backslash, a control character or not ASCII.
		m := (((x ^ quotes) - ones) | ((x ^ slashes) - ones) | (x - blanks) | x) & highs
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) / 8
		if b[i] == '"' {
			return i, true
		}
		break
	}
	end, st := textEnd(b, i)
	if st != whole {
		return -1, false
	}
	text := b[i : end-1]
	return end - 1, bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text)
}

// Name reads the name of a member and the colon after it, up to the value. The name is a part of b,
// or a copy if it is not plain.
func Name(b []byte, i int) (name []byte, next int) {
	if At(b, i) != '"' {
		return nil, -1
	}
	end, plain := String(b, i+1)
	if end < 0 {
		return nil, -1
	}
	if name = b[i+1 : end : end]; !plain {
		name = AppendUnquote(nil, b[i:end+1])
	}
	if i = Space(b, end+1); At(b, i) != ':' {
		return nil, -1
	}
	return name, Space(b, i+1)
}

// Unquote returns the text of a valid string. v includes the quotes. The text is a part of v if it has no
// escapes, even if it is invalid UTF-8.
func Unquote(v []byte) []byte {
	if text := v[1 : len(v)-1]; bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	return AppendUnquote(nil, v)
}

// AppendUnquote appends the text of a string. v includes the quotes. Invalid UTF-8 and halves of surrogate
// pairs become U+FFFD. The text of an invalid string is undefined.
func AppendUnquote(dst, v []byte) []byte {
	start, rest := len(dst), v[1:len(v)-1]
	if !utf8.Valid(rest) {
		return appendReplaced(dst, v)
	}
	for {
		n := bytes.IndexByte(rest, '\\')
		if n < 0 {
			return append(dst, rest...)
		}
		dst = append(dst, rest[:n]...)
		c := At(rest, n+1)
		if rest = rest[min(n+2, len(rest)):]; c == 'u' {
			r, err := strconv.ParseUint(string(rest[:min(4, len(rest))]), 16, 16)
			if err != nil || len(rest) < 4 || utf16.IsSurrogate(rune(r)) {
				return appendReplaced(dst[:start], v)
			}
			dst, rest = utf8.AppendRune(dst, rune(r)), rest[4:]
			continue
		}
		if i := strings.IndexByte("bfnrt", c); i >= 0 {
			c = "\b\f\n\r\t"[i]
		}
		dst = append(dst, c)
	}
}

func appendReplaced(dst, v []byte) []byte {
	dst, _ = jsontext.AppendUnquote(dst, v) // fails for what it replaces
	return dst
}

// Number reads a number. whole says that it has no fraction and no exponent.
func Number(b []byte, i int) (end int, whole bool) {
	end, whole, ok := number(b, i)
	if !ok {
		return -1, false
	}
	return end, whole
}

// number returns the end of a number, or the offset of the first byte that is not valid.
func number(b []byte, i int) (end int, whole, ok bool) {
	if At(b, i) == '-' {
		i++
	}
	switch c := At(b, i); {
	case c == '0':
		i++
	case c >= '1' && c <= '9':
		i = digits(b, i)
	default:
		return i, false, false
	}
	whole = true
	if At(b, i) == '.' {
		whole = false
		from := i + 1
		if i = digits(b, from); i == from {
			return i, false, false
		}
	}
	if At(b, i)|0x20 == 'e' {
		whole = false
		if i++; At(b, i) == '+' || At(b, i) == '-' {
			i++
		}
		from := i
		if i = digits(b, from); i == from {
			return i, false, false
		}
	}
	return i, whole, true
}

func digits(b []byte, i int) int {
	for uint(i) < uint(len(b)) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// Skip skips a value inside of depth others.
func Skip(b []byte, i, depth int) int {
	switch At(b, i) {
	case '{', '[':
		var c Checker
		c.Begin(depth, false)
		i, err := c.Read(b, i, true)
		if err != nil || !c.Done() {
			return -1
		}
		return i
	case '"':
		end, _ := String(b, i+1)
		if end < 0 {
			return -1
		}
		return end + 1
	case 't':
		return Word(b, i, "true")
	case 'f':
		return Word(b, i, "false")
	case 'n':
		return Word(b, i, "null")
	}
	i, _ = Number(b, i)
	return i
}

// KindName returns the kind of a value by its first byte, for errors: "a string".
func KindName(c byte) string {
	switch c {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	if c == '-' || c-'0' <= 9 {
		return "a number"
	}
	return "no value"
}
