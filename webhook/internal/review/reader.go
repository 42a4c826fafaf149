package review

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader walks over one JSON value held in memory. It is strict about UTF-8; of several equal
// names each is shown.
type Reader struct {
	d   jsontext.Decoder
	src bytes.Buffer
	b   []byte
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// errMore says that something follows after the value.
var errMore = errors.New("more after the end of the object")

// Read calls walk with a reader of b, which must read one value, and fails if more than that is
// there. Nothing of the reader may be kept.
func Read(b []byte, walk func(*Reader) error) error {
	r := readers.Get().(*Reader)
	r.b, r.src = b, *bytes.NewBuffer(b)
	r.d.Reset(&r.src, jsontext.AllowDuplicateNames(true))
	err := walk(r)
	if err == nil && len(bytes.TrimLeft(b[r.d.InputOffset():], " \t\r\n")) > 0 {
		err = errMore
	}
	r.b, r.src = nil, bytes.Buffer{}
	r.d.Reset(&r.src)
	readers.Put(r)
	return err
}

// Object calls member for each member of the object that comes next. The name is good until member
// reads; member must read the value, all of it. A null is an object without members.
func (r *Reader) Object(member func(name []byte) error) error {
	switch t, err := r.d.ReadToken(); {
	case err != nil:
		return err
	case t.Kind() == 'n':
		return nil
	case t.Kind() != '{':
		return wrongKind("an object", t.Kind())
	}
	for r.d.PeekKind() != '}' {
		name, err := r.d.ReadValue()
		if err != nil {
			return err
		}
		if err := member(Unquote(name)); err != nil {
			return err
		}
	}
	_, err := r.d.ReadToken()
	return err
}

// Array calls element before each element of the array that comes next; element must read it. A
// null is an array without elements.
func (r *Reader) Array(element func() error) error {
	switch t, err := r.d.ReadToken(); {
	case err != nil:
		return err
	case t.Kind() == 'n':
		return nil
	case t.Kind() != '[':
		return wrongKind("an array", t.Kind())
	}
	for r.d.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := r.d.ReadToken()
	return err
}

// Text reads a string; it is a part of the input where nothing in it is escaped. A null is empty.
func (r *Reader) Text() ([]byte, error) {
	v, err := r.d.ReadValue()
	switch {
	case err != nil:
		return nil, err
	case v.Kind() == 'n':
		return nil, nil
	case v.Kind() != '"':
		return nil, wrongKind("a string", v.Kind())
	}
	return Unquote(v), nil
}

// String reads a string into new memory, or returns the one of those known that is equal.
func (r *Reader) String(known ...string) (string, error) {
	b, err := r.Text()
	for _, k := range known {
		if string(b) == k {
			return k, err
		}
	}
	return string(b), err
}

// Bool reads true or false. A null is false.
func (r *Reader) Bool() (bool, error) {
	t, err := r.d.ReadToken()
	if err != nil {
		return false, err
	}
	switch t.Kind() {
	case 't':
		return true, nil
	case 'f', 'n':
		return false, nil
	}
	return false, wrongKind("true or false", t.Kind())
}

// Raw reads a value and returns it as a part of the input; nil for null.
func (r *Reader) Raw() ([]byte, error) {
	v, err := r.d.ReadValue()
	if err != nil || v.Kind() == 'n' {
		return nil, err
	}
	end := int(r.d.InputOffset())
	return r.b[end-len(v) : end : end], nil
}

// Skip passes over a value.
func (r *Reader) Skip() error { return r.d.SkipValue() }

// Unquote is the text of a valid JSON string. It is a part of v if nothing in it is escaped.
func Unquote(v []byte) []byte {
	if plain := v[1 : len(v)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return plain
	}
	text, _ := jsontext.AppendUnquote(nil, v) // v is valid: it has been read
	return text
}

func wrongKind(want string, got jsontext.Kind) error {
	name := "no value"
	switch got {
	case 'n':
		name = "null"
	case 't', 'f':
		name = "a boolean"
	case '"':
		name = "a string"
	case '0':
		name = "a number"
	case '{':
		name = "an object"
	case '[':
		name = "an array"
	}
	return fmt.Errorf("want %s, got %s", want, name)
}

// Twice notices names that come twice in one object: the zero value has seen none.
type Twice uint32

// See notes the field with this number, 0 to 31, and fails if it was there before.
func (t *Twice) See(field int, name []byte) error {
	if *t&(1<<field) != 0 {
		return fmt.Errorf("%q is there twice", name)
	}
	*t |= 1 << field
	return nil
}

// In puts the name of a member in front of an error.
func In(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
