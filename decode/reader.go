package decode

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// reader goes through a document. Its methods report false for what is not well-formed, and for
// what the fast way leaves to the stock decoder.
type reader struct {
	src     []byte
	at      int
	depth   int
	strings arena
}

// maxDepth is how deep values are read; the stock decoder goes to 10,000.
const maxDepth = 200

func (r *reader) space() {
	for r.at < len(r.src) {
		switch r.src[r.at] {
		case ' ', '\n', '\t', '\r':
			r.at++
		default:
			return
		}
	}
}

// peek is the byte at the reader, 0 at the end.
func (r *reader) peek() byte {
	if r.at < len(r.src) {
		return r.src[r.at]
	}
	return 0
}

func (r *reader) literal(s string) bool {
	if !bytes.HasPrefix(r.src[r.at:], unsafe.Slice(unsafe.StringData(s), len(s))) {
		return false
	}
	r.at += len(s)
	return true
}

// next is called after each element of an array or object that ends with end. more: another one
// follows, and the reader stands at it.
func (r *reader) next(end byte) (more, ok bool) {
	r.space()
	switch r.peek() {
	case ',':
		r.at++
		r.space()
		return true, true
	case end:
		r.at++
		return false, true
	}
	return false, false
}

// begin enters an array or object; more: it has an element, and the reader stands at it.
func (r *reader) begin(open, end byte) (more, ok bool) {
	if r.peek() != open || r.depth == maxDepth {
		return false, false
	}
	r.at++
	r.space()
	if r.peek() == end {
		r.at++
		return false, true
	}
	return true, true
}

// key reads the name of a member and the colon after it. It is good until the next call.
func (r *reader) key() (name []byte, ok bool) {
	name, escaped, ok := r.quoted()
	if !ok {
		return nil, false
	}
	if escaped {
		if name, ok = unescape(nil, name); !ok {
			return nil, false
		}
	}
	r.space()
	if r.peek() != ':' {
		return nil, false
	}
	r.at++
	r.space()
	return name, true
}

// quoted reads a string and returns what stands between the quotes.
func (r *reader) quoted() (inner []byte, escaped, ok bool) {
	if r.peek() != '"' {
		return nil, false, false
	}
	start := r.at + 1
	for i := start; i < len(r.src); i++ {
		switch c := r.src[i]; {
		case c == '"':
			r.at = i + 1
			return r.src[start:i], escaped, true
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

// text reads a string into memory of the object's.
func (r *reader) text() (string, bool) {
	inner, escaped, ok := r.quoted()
	if !ok {
		return "", false
	}
	if escaped {
		b, ok := unescape(make([]byte, 0, len(inner)), inner)
		return unsafe.String(unsafe.SliceData(b), len(b)), ok
	}
	return r.strings.keep(inner), true
}

// unescape appends a string without its escapes to b.
func unescape(b, s []byte) ([]byte, bool) {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		i++
		switch s[i] {
		case '"', '\\', '/':
			b = append(b, s[i])
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			c, ok := hex4(s[i+1:])
			if !ok {
				return nil, false
			}
			i += 4
			if utf16.IsSurrogate(c) {
				// Half a character counts as an unknown one, and what follows stands for itself.
				pair := rune(utf8.RuneError)
				if len(s) > i+2 && s[i+1] == '\\' && s[i+2] == 'u' {
					if low, ok := hex4(s[i+3:]); ok {
						pair = utf16.DecodeRune(c, low)
					}
				}
				if c = pair; c != utf8.RuneError {
					i += 6
				}
			}
			b = utf8.AppendRune(b, c)
		default:
			return nil, false
		}
	}
	return b, true
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

// number reads a number; whole: it has no fraction and no exponent.
func (r *reader) number() (s string, whole, ok bool) {
	start := r.at
	if r.peek() == '-' {
		r.at++
	}
	switch c := r.peek(); {
	case c == '0':
		r.at++
	case c >= '1' && c <= '9':
		r.digits()
	default:
		return "", false, false
	}
	whole = true
	if r.peek() == '.' {
		whole = false
		r.at++
		if !r.digits() {
			return "", false, false
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		whole = false
		r.at++
		if c := r.peek(); c == '+' || c == '-' {
			r.at++
		}
		if !r.digits() {
			return "", false, false
		}
	}
	return unsafe.String(&r.src[start], r.at-start), whole, true
}

func (r *reader) digits() bool {
	start := r.at
	for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
		r.at++
	}
	return r.at > start
}

// signed reads a whole number of so many bits.
func (r *reader) signed(bits int) (int64, bool) {
	s, whole, ok := r.number()
	if !ok || !whole {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, bits)
	return n, err == nil
}

// skip passes over a value, of which it checks the syntax.
func (r *reader) skip() bool {
	switch r.peek() {
	case '{':
		return r.each('{', '}', func() bool {
			_, ok := r.key()
			return ok && r.skip()
		})
	case '[':
		return r.each('[', ']', r.skip)
	case '"':
		inner, escaped, ok := r.quoted()
		if ok && escaped {
			_, ok = unescape(nil, inner)
		}
		return ok
	case 't':
		return r.literal("true")
	case 'f':
		return r.literal("false")
	case 'n':
		return r.literal("null")
	}
	_, _, ok := r.number()
	return ok
}

// each calls f at every element between open and end.
func (r *reader) each(open, end byte, f func() bool) bool {
	more, ok := r.begin(open, end)
	if !ok {
		return false
	}
	r.depth++
	for more {
		if !f() {
			return false
		}
		if more, ok = r.next(end); !ok {
			return false
		}
	}
	r.depth--
	return true
}

// count is how many elements the array or object at the reader has, which stays where it is. It
// does not check what it passes over: its answer is good for well-formed documents only.
func (r *reader) count() int {
	n, depth := 0, 0
	for i := r.at; i < len(r.src); i++ {
		switch r.src[i] {
		case '"':
			for i++; i < len(r.src) && r.src[i] != '"'; i++ {
				if r.src[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return n + 1
			}
		case ',':
			if depth == 1 {
				n++
			}
		}
	}
	return n + 1
}
