package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The methods of a viewReader that walk over JSON. They are made for documents that were read
// before, when their header was scanned: what is passed over is looked at only as far as it takes
// to find its end.

var (
	errMore   = errors.New("more after the value")
	errSyntax = errors.New("no JSON")
	errCut    = errors.New("the JSON is cut short")
)

func (d *viewReader) space() {
	for d.i < len(d.b) && d.b[d.i] <= ' ' {
		d.i++
	}
}

// peek is the byte at the reader, 0 at the end.
func (d *viewReader) peek() byte {
	if d.i < len(d.b) {
		return d.b[d.i]
	}
	return 0
}

// want is the error where something else stands than what a view holds.
func (d *viewReader) want(what string) error {
	c := d.peek()
	switch {
	case d.i >= len(d.b):
		return errCut
	case c == '-' || c >= '0' && c <= '9':
		c = '0'
	}
	return fmt.Errorf("want %s, got %s", what, kindOf(jsontext.Kind(c)))
}

// begin enters an object or array; more: it has an element, and the reader stands at it.
func (d *viewReader) begin(open, end byte) (more bool, err error) {
	if d.peek() != open {
		if open == '{' {
			return false, d.want("an object")
		}
		return false, d.want("an array")
	}
	d.i++
	d.space()
	if d.peek() == end {
		d.i++
		return false, nil
	}
	return true, nil
}

// next is called after each element; more: another one follows, and the reader stands at it.
func (d *viewReader) next(end byte) (more bool, err error) {
	d.space()
	switch d.peek() {
	case ',':
		d.i++
		d.space()
		return true, nil
	case end:
		d.i++
		return false, nil
	case 0:
		return false, errCut
	}
	return false, errSyntax
}

// name reads the name of a member and the colon behind it.
func (d *viewReader) name() ([]byte, error) {
	name, err := d.str()
	if err != nil {
		return nil, err
	}
	d.space()
	if d.peek() != ':' {
		return nil, errSyntax
	}
	d.i++
	d.space()
	return name, nil
}

// str reads a string, which may be a part of the document.
func (d *viewReader) str() ([]byte, error) {
	if d.peek() != '"' {
		return nil, d.want("a string")
	}
	start := d.i
	if err := d.skipString(); err != nil {
		return nil, err
	}
	text := d.b[start+1 : d.i-1 : d.i-1]
	for i, c := range text {
		if c < ' ' {
			return nil, errSyntax
		}
		if c == '\\' {
			quoted := jsontext.Value(d.b[start:d.i])
			if bytes.IndexFunc(text[i:], func(r rune) bool { return r < ' ' }) >= 0 || !quoted.IsValid(lenient...) {
				return nil, errSyntax
			}
			return unquote(quoted), nil
		}
	}
	return text, nil
}

// skipString passes over a string.
func (d *viewReader) skipString() error {
	end := stringEnd(d.b, d.i+1)
	if end < 0 {
		return errCut
	}
	d.i = end
	return nil
}

// stringEnd is the offset behind the string whose text begins at i, or -1. Most strings are short:
// two words are looked at before more is called.
func stringEnd(b []byte, i int) int {
	if len(b)-i >= 16 {
		quotes := quotesIn(binary.LittleEndian.Uint64(b[i:]))
		if quotes == 0 {
			i += 8
			if quotes = quotesIn(binary.LittleEndian.Uint64(b[i:])); quotes == 0 {
				i += 8
			}
		}
		if quotes != 0 {
			if i += bits.TrailingZeros64(quotes) / 8; b[i-1] != '\\' {
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

// quotesIn has a bit in the bytes of w that are quotes. Only the lowest is sure.
func quotesIn(w uint64) uint64 {
	const ones = 0x0101010101010101
	w ^= '"' * ones
	return (w - ones) &^ w & (0x80 * ones)
}

// nested reports whether an object or array comes whose end is not known.
func (d *viewReader) nested() bool {
	c := d.peek()
	return (c == '{' || c == '[') && d.long.end(d.i) == 0
}

// skipNested passes over an object or array.
func (d *viewReader) skipNested() error {
	if end := d.long.end(d.i); end > 0 && end <= len(d.b) {
		d.i = end
		return nil
	}
	b, i, depth := d.b, d.i, 0
	for i < len(b) {
		c := b[i]
		i++
		if c == '"' {
			if i = stringEnd(b, i); i < 0 {
				return errCut
			}
			continue
		}
		switch c | 0x20 { // which makes one of { and [, and of } and ]
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				d.i = i
				return nil
			}
		}
	}
	return errCut
}

// skip passes over a value.
func (d *viewReader) skip() error {
	switch d.peek() {
	case '"':
		return d.skipString()
	case '{', '[':
		return d.skipNested()
	}
	if len(d.literal()) == 0 {
		return errSyntax
	}
	return nil
}

// literal reads what is no string, object or array.
func (d *viewReader) literal() []byte {
	start := d.i
	for d.i < len(d.b) {
		switch c := d.b[d.i]; {
		case c <= ' ', c == ',', c == ':', c == '}', c == ']', c == '{', c == '[', c == '"':
			return d.b[start:d.i]
		}
		d.i++
	}
	return d.b[start:d.i]
}

// null reads a null, if that is what comes.
func (d *viewReader) null() bool {
	if d.peek() != 'n' || !bytes.HasPrefix(d.b[d.i:], []byte("null")) {
		return false
	}
	d.i += len("null")
	return true
}

// value is the bytes of the value that comes.
func (d *viewReader) value() ([]byte, error) {
	start := d.i
	err := d.skip()
	return d.b[start:d.i:d.i], err
}

// number reads the text of a number.
func (d *viewReader) number() ([]byte, error) {
	if c := d.peek(); c != '-' && (c < '0' || c > '9') {
		return nil, d.want("a number")
	}
	b := d.literal()
	if len(b) > 1 && !jsontext.Value(b).IsValid() {
		return nil, errSyntax
	}
	return b, nil
}

func (d *viewReader) int(bits int) (int64, error) {
	b, err := d.number()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(b), 10, bits)
}

func (d *viewReader) uint(bits int) (uint64, error) {
	b, err := d.number()
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(b), 10, bits)
}

func (d *viewReader) float(bits int) (float64, error) {
	b, err := d.number()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(string(b), bits)
}

// array calls element at each element of the array that comes, which it has to read.
func (d *viewReader) array(element func() error) error {
	more, err := d.begin('[', ']')
	for more && err == nil {
		if err = element(); err == nil {
			more, err = d.next(']')
		}
	}
	return err
}

// object calls member at the value of each member of the object that comes, which it has to read.
func (d *viewReader) object(member func(name []byte) error) error {
	more, err := d.begin('{', '}')
	for more && err == nil {
		var name []byte
		if name, err = d.name(); err != nil {
			return err
		}
		if err = member(name); err == nil {
			more, err = d.next('}')
		}
	}
	return err
}

// count is how many elements the array has that comes, which it leaves where it is.
func (d *viewReader) count() (int, error) {
	start, n := d.i, 0
	err := d.array(func() error { n++; return d.skip() })
	d.i = start
	return n, err
}
