package jsonscan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
)

// Errors of a Reader.
var (
	ErrSyntax = errors.New("no JSON")
	ErrCut    = fmt.Errorf("the JSON is cut short: %w", io.ErrUnexpectedEOF)
	ErrMore   = errors.New("data follows the end of the value")
)

// Reader reads a document that a [Checker] has checked before. Its methods read the value at I. They read a null as
// an empty or zero value of the wanted type.
//
// A Reader checks a skipped value only as far as it must to find the end. So it accepts some invalid text.
type Reader struct {
	B    []byte // the document
	I    int
	Long Spans // the known spans of B
}

// Space skips white space.
func (r *Reader) Space() {
	for r.I < len(r.B) && r.B[r.I] <= ' ' {
		r.I++
	}
}

// Peek returns the byte at I, 0 at the end.
func (r *Reader) Peek() byte { return At(r.B, r.I) }

// Want returns the error for a value that is not what the caller wants.
func (r *Reader) Want(what string) error {
	if r.I >= len(r.B) {
		return ErrCut
	}
	return fmt.Errorf("want %s, got %s", what, KindName(r.Peek()))
}

// Begin enters an object or array. more reports whether it has an element, which is next.
func (r *Reader) Begin(open byte) (more bool, err error) {
	if r.Null() {
		return false, nil
	}
	if r.Peek() != open {
		return false, r.Want(KindName(open))
	}
	r.I++
	r.Space()
	if r.Peek() == open+2 { // the closing brace or bracket
		r.I++
		return false, nil
	}
	return true, nil
}

// Next is called after each element. more reports whether another one follows. end is the closing brace or bracket.
func (r *Reader) Next(end byte) (more bool, err error) {
	r.Space()
	switch r.Peek() {
	case ',':
		r.I++
		r.Space()
		return true, nil
	case end:
		r.I++
		return false, nil
	case 0:
		return false, ErrCut
	}
	return false, ErrSyntax
}

// Name reads the name of a member and the colon after it.
func (r *Reader) Name() ([]byte, error) {
	if r.Peek() != '"' {
		return nil, r.Want("a string")
	}
	name, next := Name(r.B, r.I)
	if next < 0 {
		return nil, ErrSyntax
	}
	r.I = next
	return name, nil
}

// Text reads a string. The result is a part of the document if the string has no escapes.
func (r *Reader) Text() ([]byte, error) {
	if r.Null() {
		return nil, nil
	}
	if r.Peek() != '"' {
		return nil, r.Want("a string")
	}
	start := r.I
	end, plain := String(r.B, start+1)
	if end < 0 {
		if quoteEnd(r.B, start+1) < 0 {
			return nil, ErrCut
		}
		return nil, ErrSyntax
	}
	r.I = end + 1
	if !plain {
		return Unquote(r.B[start:r.I]), nil
	}
	return r.B[start+1 : end : end], nil
}

// Skip skips a value.
func (r *Reader) Skip() error {
	switch r.Peek() {
	case '"':
		end := quoteEnd(r.B, r.I+1)
		if end < 0 {
			return ErrCut
		}
		r.I = end
		return nil
	case '{', '[':
		return r.skipNested()
	}
	if len(r.Literal()) == 0 {
		return ErrSyntax
	}
	return nil
}

// skipNested skips an object or array.
func (r *Reader) skipNested() error {
	if end := r.Long.end(r.I); end > 0 && end <= len(r.B) {
		r.I = end
		return nil
	}
	b, i, depth := r.B, r.I, 0
	for i < len(b) {
		c := b[i]
		i++
		if c == '"' {
			if i = quoteEnd(b, i); i < 0 {
				return ErrCut
			}
			continue
		}
		switch c | 0x20 { // it maps [ to {, and ] to }
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				r.I = i
				return nil
			}
		}
	}
	return ErrCut
}

// quoteEnd returns the offset after the closing quote of the string whose text begins at i, or -1. Most strings are
// short, so it tests two words before it calls IndexByte.
func quoteEnd(b []byte, i int) int {
	if len(b)-i >= 16 {
		m := quotesIn(binary.LittleEndian.Uint64(b[i:]))
		if m == 0 {
			i += 8
			if m = quotesIn(binary.LittleEndian.Uint64(b[i:])); m == 0 {
				i += 8
			}
		}
		if m != 0 {
			if i += bits.TrailingZeros64(m) / 8; b[i-1] != '\\' {
				return i + 1
			}
		}
	}
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		back := i
		for b[back-1] == '\\' {
			back--
		}
		i++
		if (i-1-back)%2 == 0 {
			return i
		}
	}
}

// quotesIn sets a bit in each byte of w that is a quote. Bits above the lowest may be wrong.
func quotesIn(w uint64) uint64 {
	w ^= quotes
	return (w - ones) &^ w & highs
}

// Nested reports whether the value is an object or array with an unknown end.
func (r *Reader) Nested() bool {
	c := r.Peek()
	return (c == '{' || c == '[') && r.Long.end(r.I) == 0
}

// Literal reads a number, boolean or null.
func (r *Reader) Literal() []byte {
	start := r.I
	for r.I < len(r.B) {
		switch c := r.B[r.I]; {
		case c <= ' ', c == ',', c == ':', c == '}', c == ']', c == '{', c == '[', c == '"':
			return r.B[start:r.I]
		}
		r.I++
	}
	return r.B[start:r.I]
}

// Null reads a null if the value is one, and reports whether it is.
func (r *Reader) Null() bool {
	end := Word(r.B, r.I, "null")
	if end < 0 {
		return false
	}
	r.I = end
	return true
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	if r.Null() {
		return false, nil
	}
	for _, word := range []string{"true", "false"} {
		if end := Word(r.B, r.I, word); end >= 0 {
			r.I = end
			return word == "true", nil
		}
	}
	return false, r.Want("true or false")
}

// Value reads a value, and returns its bytes.
func (r *Reader) Value() ([]byte, error) {
	start := r.I
	err := r.Skip()
	return r.B[start:r.I:r.I], err
}

// number reads the text of a number.
func (r *Reader) number() ([]byte, error) {
	if r.Null() {
		return []byte("0"), nil
	}
	if c := r.Peek(); c != '-' && c-'0' > 9 {
		return nil, r.Want("a number")
	}
	end, _ := Number(r.B, r.I)
	b := r.Literal()
	if end != r.I {
		return nil, ErrSyntax
	}
	return b, nil
}

// Int reads a whole number of at most the given bits, written without fraction or exponent.
func (r *Reader) Int(bits int) (int64, error) {
	b, err := r.number()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(b), 10, bits)
}

// Uint is [Reader.Int] of a number that is not negative.
func (r *Reader) Uint(bits int) (uint64, error) {
	b, err := r.number()
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(b), 10, bits)
}

// Float reads a number of the given bits.
func (r *Reader) Float(bits int) (float64, error) {
	b, err := r.number()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(string(b), bits)
}

// Array reads an array. It calls element for each element, which must read it.
func (r *Reader) Array(element func() error) error {
	more, err := r.Begin('[')
	for more && err == nil {
		if err = element(); err == nil {
			more, err = r.Next(']')
		}
	}
	return err
}

// Object reads an object. It calls member at the value of each member, which must read it.
func (r *Reader) Object(member func(name []byte) error) error {
	more, err := r.Begin('{')
	for more && err == nil {
		var name []byte
		if name, err = r.Name(); err != nil {
			return err
		}
		if err = member(name); err == nil {
			more, err = r.Next('}')
		}
	}
	return err
}

// Count returns the number of elements of an array, and does not move I.
func (r *Reader) Count() (int, error) {
	start, n := r.I, 0
	err := r.Array(func() error { n++; return r.Skip() })
	r.I = start
	return n, err
}
